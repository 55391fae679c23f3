"""A timer has one value, of a kind that makes sense at its place, and what is written out can be read."""

from conjoin.bpmn.compile import TIMERS
from conjoin.bpmn.document import Document, Event, Found, Node, text_of
from conjoin.bpmn.expressions import compiled, is_expression
from conjoin.bpmn.names import BPMN
from conjoin.bpmn.rule import each_node
from conjoin.feel import FeelSyntaxError
from conjoin.times.iso8601 import read_cycle, read_instant, read_interval

_EXAMPLES = {"date": "2030-01-31T08:00:00Z", "duration": "PT15M", "cycle": "R3/PT10M"}
_READERS = {"date": read_instant, "duration": read_interval, "cycle": read_cycle}


@each_node
def timers(document: Document, node: Node) -> Found:
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
        names = _names(value) if node.starts_process else ()
        if names:
            text = f"the {kind} of the timer that starts the process uses the variable '{names[0]}'"
            yield node, text, f"No variable exists before an instance does: write it like {_EXAMPLES[kind]}."
    elif _READERS[kind](value) is None:
        cron = " Cron expressions are not run." if kind == "cycle" else ""
        advice = f"Write it like {_EXAMPLES[kind]}, or as an expression.{cron}"
        yield node, f"'{value}' is not a {kind} that can be read", advice


def _names(text: str) -> tuple[str, ...]:
    try:
        return compiled(text).names
    except FeelSyntaxError:
        return ()
