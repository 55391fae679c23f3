"""Models that feed a client's variables into whatever becomes state: timers, retries, keys, names, lists, mappings.

Each is a process of its own; `n` is the client's. `hold` is a part in front of it: a timer, a job or a message whose
key is known only after a job, so that the value comes from the sweeper, from a worker or in mail between two shards.
"""

from tests.bpmn.snippets import BEGIN, END, catch, extended, message, model, script, timer

HOLDS = ("at_once", "timer", "job", "mail")
JSON_OF = "from json(n)"


def _job(identifier: str, type_: str, retries: str = "3") -> str:
    return extended("serviceTask", identifier, f'<zeebe:taskDefinition type="{type_}" retries="{retries}"/>')


def _catch_timer(identifier: str, kind: str, value: str) -> str:
    return f'<intermediateCatchEvent id="{identifier}">{timer(kind, value)}</intermediateCatchEvent>\n'


def _loop(collection: str) -> str:
    loop = (
        "<multiInstanceLoopCharacteristics><extensionElements><zeebe:loopCharacteristics"
        f' inputCollection="{collection}" inputElement="it" outputCollection="out" outputElement="=it"/>'
        "</extensionElements></multiInstanceLoopCharacteristics>"
    )
    return extended("scriptTask", "nasty", '<zeebe:script expression="=it" resultVariable="r"/>', loop)


def _mapping(source: str, target: str = "m") -> str:
    mapping = f'<zeebe:ioMapping><zeebe:output source="{source}" target="{target}"/></zeebe:ioMapping>'
    return extended("task", "nasty", mapping)


_AWAIT_NASTY = catch("nasty", "nasty_message")
CONSUMERS: dict[str, tuple[str, str]] = {
    "retries": (_job("nasty", "nasty-job", "=n"), ""),
    "retries_json": (_job("nasty", "nasty-job", f"={JSON_OF}"), ""),
    "job_type": (_job("nasty", "=n"), ""),
    "duration": (_catch_timer("nasty", "timeDuration", "=n"), ""),
    "duration_made": (_catch_timer("nasty", "timeDuration", "=duration(&quot;PT1S&quot;) * n"), ""),
    "date": (_catch_timer("nasty", "timeDate", "=n"), ""),
    "date_made": (
        _catch_timer("nasty", "timeDate", "=date and time(&quot;2030-01-01T00:00:00Z&quot;) + duration(n)"),
        "",
    ),
    "key": (_AWAIT_NASTY, message("nasty_message", "nasty", "=n")),
    "key_json": (_AWAIT_NASTY, message("nasty_message", "nasty", f"={JSON_OF}")),
    "name": (_AWAIT_NASTY, message("nasty_message", "=n", "=&quot;k&quot;")),
    "script_json": (script("nasty", f"={JSON_OF}"), ""),
    "mapping_json": (_mapping(f"={JSON_OF}"), ""),
    "mapping_path": (_mapping("=n", "deep.er.still"), ""),
    "power": (_mapping("=n ** n * n"), ""),
    "list": (_loop("=n"), ""),
    "list_json": (_loop(f"={JSON_OF}"), ""),
    "error": (
        '<endEvent id="nasty"><errorEventDefinition errorRef="e"/></endEvent>\n',
        '<error id="e" errorCode="=n"/>',
    ),
    "signal": (
        '<intermediateThrowEvent id="nasty"><signalEventDefinition signalRef="s"/></intermediateThrowEvent>\n',
        '<signal id="s" name="=n"/>',
    ),
    "call": (extended("callActivity", "nasty", '<zeebe:calledElement processId="=n"/>'), ""),
}
_HELD: dict[str, tuple[str, str, str]] = {
    "at_once": ("", "begin>nasty", ""),
    "timer": (_catch_timer("hold", "timeDuration", "PT0.2S"), "begin>hold hold>nasty", ""),
    "job": (_job("hold", "give-n"), "begin>hold hold>nasty", ""),
    "mail": (
        _job("ask", "give-key") + catch("hold", "hold_message"),
        "begin>ask ask>hold hold>nasty",
        message("hold_message", "give-n", "=key"),
    ),
}


def nasty_model(consumer: str, hold: str) -> tuple[str, bytes]:
    """The id of the process, and its file."""
    (element, roots), (before, flows, more) = CONSUMERS[consumer], _HELD[hold]
    leads_on = "" if consumer == "error" else " nasty>end"
    content = model(BEGIN + before + element + ("" if consumer == "error" else END), flows + leads_on, roots + more)
    name = f"{consumer}-{hold}"
    content = content.replace(b'<process id="order"', f'<process id="{name}"'.encode())
    return name, content


def every_model() -> list[tuple[str, bytes]]:
    return [nasty_model(consumer, hold) for consumer in CONSUMERS for hold in HOLDS]
