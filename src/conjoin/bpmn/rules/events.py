"""Events: where they sit, what they interrupt, and what timers, errors and links say."""

from conjoin.bpmn.analysis.ways import link_catches
from conjoin.bpmn.compile import TIMERS
from conjoin.bpmn.document import Document, Event, Found, Node, text_of
from conjoin.bpmn.expressions import is_expression, readable
from conjoin.bpmn.names import ACTIVITIES, BPMN
from conjoin.bpmn.rule import each_node
from conjoin.bpmn.rules.messages import repeated
from conjoin.times.iso8601 import read_cycle, read_instant, read_interval

_ATTACH = "Attach it to a task, subprocess or call activity."
_BRANCHES = ("message", "timer", "signal")
_EXAMPLES = {"date": "2030-01-31T08:00:00Z", "duration": "PT15M", "cycle": "R3/PT10M"}
_READERS = {"date": read_instant, "duration": read_interval, "cycle": read_cycle}


@each_node
def boundary_events(document: Document, node: Node) -> Found:
    """A boundary event sits on an activity of its own scope (S6)."""
    host = node.attached_to
    if node.tag != "boundaryEvent":
        return
    if host is None:
        named = node.xml.get("attachedToRef")
        text = f"it is attached to '{named}', which is no element" if named else "it is attached to nothing"
        yield node, text, _ATTACH
    elif host.tag not in ACTIVITIES or host.is_event_subprocess:
        yield node, f"it is attached to the {host.words} '{host.id}'", _ATTACH
    elif host.scope is not node.scope:
        text = f"it is attached to '{host.id}', which is in another scope"
        yield node, text, "Write the event beside the activity that it is attached to."


@each_node
def interruption(document: Document, node: Node) -> Found:
    """Errors always interrupt, and what repeats never does: for boundary events and event subprocesses."""
    in_event_subprocess = node.tag == "startEvent" and node.scope is not None and node.scope.is_event_subprocess
    if node.tag != "boundaryEvent" and not in_event_subprocess:
        return
    for event in node.events:
        if event.type == "error" and not node.interrupts:
            yield node, "an error event cannot be non-interrupting", "Make it interrupting."
        if event.type == "timer" and node.interrupts and event.xml.find(f"{{{BPMN}}}timeCycle") is not None:
            advice = "Use a duration or a date, or make the event non-interrupting."
            yield node, "a timer that interrupts cannot repeat", advice


@each_node
def event_gateways(document: Document, node: Node) -> Found:
    """An event-based gateway waits for two or more events that are its own, each with another name (K7)."""
    if node.tag != "eventBasedGateway":
        return
    if len(node.outgoing) < 2:
        text = f"the event-based gateway has {len(node.outgoing) or 'no'} outgoing flow"
        yield node, text, "Give it two or more, each to a catch event."
    for target in node.targets:
        if target.tag != "intermediateCatchEvent" or target.event_type not in _BRANCHES:
            text = f"the event-based gateway leads to the {target.words} '{target.id}'"
            yield node, text, "Lead it to message, timer or signal catch events only."
        elif any(flow.source is not node for flow in target.incoming):
            text = f"'{target.id}' behind the event-based gateway has other incoming flows"
            yield node, text, "Let only the gateway lead to it, or draw a second event."
    yield from repeated(node.targets, f"two branches of the gateway '{node.id}'")


def links(document: Document) -> Found:
    """Every link throw event finds one catch event of its name in its own scope."""
    for scope in document.scopes:
        catches = link_catches(scope)
        for node in scope.children:
            if node.event is None or node.event.type != "link":
                continue
            name = node.event.name
            caught = len(catches.get(name, ()))
            if not name:
                yield node, "the link has no name", "Give both ends of the link the same name."
            elif node.catches_link and caught > 1:
                text = f"there are {caught} link catch events with the name '{name}' in its scope"
                yield node, text, "Keep one: a link may have many sources, but one target."
            elif node.throws_link and not caught:
                text = f"no link catch event in its scope has the name '{name}'"
                yield node, text, "Add one, or correct the name."


@each_node
def error_codes(document: Document, node: Node) -> Found:
    """An error that is thrown has a code; one that is caught has a fixed code, or none for every error."""
    for event in node.events:
        if event.type != "error":
            continue
        named = event.xml.get("errorRef")
        code = event.refers_to.xml.get("errorCode") if event.refers_to else None
        if node.tag == "endEvent":
            if not code:
                yield node, "the error end event has no error code", "Choose an error that has a code."
            continue
        if named and event.refers_to is None:
            yield node, f"its error '{named}' does not exist", "Choose an error, or none to catch every error."
        if is_expression(code or ""):
            text = "the code of an error that is caught cannot be an expression"
            yield node, text, "Write the code itself, or none to catch every error."


@each_node
def timers(document: Document, node: Node) -> Found:
    """A timer has one value, of a kind that makes sense at its place, and what is written out can be read."""
    for event in node.events:
        if event.type == "timer":
            yield from _timer(node, event)


def _timer(node: Node, event: Event) -> Found:
    found = [(kind, event.xml.find(f"{{{BPMN}}}{tag}")) for tag, kind in TIMERS.items()]
    values = [(kind, text_of(xml) or "") for kind, xml in found if xml is not None]
    if len(values) != 1:
        text = f"the timer has {len(values) or 'no'} value{'s' if len(values) > 1 else ''}"
        yield node, text, "Give it one: a date, a duration or a cycle."
        return
    kind, value = values[0]
    if kind == "cycle" and node.tag == "intermediateCatchEvent":
        yield node, "a timer catch event cannot repeat", "Use a duration or a date."
    if is_expression(value):
        # A start timer of a process is computed when it is deployed.
        expression = readable(value) if node.starts_process else None
        if expression and expression.names:
            text = f"the {kind} of the timer that starts the process uses the variable '{expression.names[0]}'"
            yield node, text, f"No variable exists before an instance does: write it like {_EXAMPLES[kind]}."
    elif _READERS[kind](value) is None:
        cron = " Cron expressions are not run." if kind == "cycle" else ""
        advice = f"Write it like {_EXAMPLES[kind]}, or as an expression.{cron}"
        yield node, f"'{value}' is not a {kind} that can be read", advice
