"""Models for tests of one gateway: each test has a process, a message and a job type of its own."""

from tests.bpmn.snippets import BEGIN, END, catch, extended, message, model


def with_message_and_job(name: str) -> bytes:
    """Process, message and job type are all called so; the key is `orderId`."""
    content = model(
        BEGIN + catch("wait", "awaited_message") + _job(name) + END,
        "begin>wait wait>work work>end",
        message("awaited_message", name),
    )
    return _called(name, content)


def with_job(name: str) -> bytes:
    return _called(name, model(BEGIN + _job(name) + END, "begin>work work>end"))


def with_message(name: str) -> bytes:
    content = model(
        BEGIN + catch("wait", "awaited_message") + END, "begin>wait wait>end", message("awaited_message", name)
    )
    return _called(name, content)


def started_by_message(process: str, name: str) -> bytes:
    """It begins with a message start event and waits for a job, so that it is found while it runs."""
    begin = '<startEvent id="begin"><messageEventDefinition messageRef="first"/></startEvent>\n'
    content = model(begin + _job(process) + END, "begin>work work>end", f'<message id="first" name="{name}"/>')
    return _called(process, content)


def _job(type_: str) -> str:
    return extended("serviceTask", "work", f'<zeebe:taskDefinition type="{type_}"/>')


def _called(name: str, content: bytes) -> bytes:
    return content.replace(b'<process id="order"', f'<process id="{name}"'.encode())
