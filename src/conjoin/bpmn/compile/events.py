"""Event definitions to what the kernel listens to, or throws."""

from conjoin.bpmn.document import Document, Event, ModelPart, Node, text_of
from conjoin.bpmn.expressions import expression, key_expression
from conjoin.bpmn.keys import correlation_key
from conjoin.bpmn.names import BPMN, THROWING
from conjoin.kernel.plan import (
    ErrorDefinition,
    EventDefinition,
    LinkDefinition,
    Literal,
    MessageDefinition,
    SignalDefinition,
    TerminateDefinition,
    TimerDefinition,
)

TIMERS = {"timeDate": "date", "timeDuration": "duration", "timeCycle": "cycle"}


def compile_event(document: Document, node: Node) -> EventDefinition | None:
    """What an element catches or throws. A message that is thrown is a job, so there is nothing to listen to."""
    if node.caught:
        return _message(document, node)
    event = node.event
    if event is None or (event.type == "message" and node.tag in THROWING):
        return None
    if event.type == "timer":
        return _timer(event)
    if event.type == "signal":
        return _signal(node, _referred(document, event, "signalRef").name or "")
    if event.type == "error":
        return _error(document, event)
    if event.type == "link":
        return LinkDefinition(event.name or "")
    return TerminateDefinition()


def _message(document: Document, node: Node) -> MessageDefinition:
    message = node.caught
    assert message is not None
    name = message.name or ""
    if node.starts_process:
        # Nothing is known when a message arrives, so the name of a start event is a constant.
        return MessageDefinition(Literal(expression(name)({}, 0), name), None)
    key = correlation_key(node)
    if key is None:
        return MessageDefinition(expression(name), None, document.policies.of(name).match)
    return MessageDefinition(expression(name), key_expression(key))


def _signal(node: Node, name: str) -> SignalDefinition:
    return SignalDefinition(Literal(expression(name)({}, 0), name) if node.starts_process else expression(name))


def _timer(event: Event) -> TimerDefinition:
    for tag, kind in TIMERS.items():
        text = text_of(event.xml.find(f"{{{BPMN}}}{tag}"))
        if text is not None:
            return TimerDefinition(kind, expression(text))
    raise AssertionError("the rule `timers` lets only complete timers pass")


def _error(document: Document, event: Event) -> ErrorDefinition:
    error = document.referred(event.xml, "errorRef")
    code = error.xml.get("errorCode") if error else None
    return ErrorDefinition(expression(code) if code else None)


def _referred(document: Document, event: Event, attribute: str) -> ModelPart:
    found = document.referred(event.xml, attribute)
    assert found is not None
    return found
