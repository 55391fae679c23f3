"""A timer has one value, of a kind that makes sense at its place, and what is written out can be read."""

from collections.abc import Iterator

from conjoin.bpmn.compile.events import TIMERS
from conjoin.bpmn.document import Document, Event, Node, text_of
from conjoin.bpmn.expressions import compiled, is_expression
from conjoin.bpmn.names import BPMN
from conjoin.errors import Problem
from conjoin.feel import FeelSyntaxError
from conjoin.times.iso8601 import read_cycle, read_instant, read_interval

RULE = "timers"
_EXAMPLES = {"date": "2030-01-31T08:00:00Z", "duration": "PT15M", "cycle": "R3/PT10M"}
_READERS = {"date": read_instant, "duration": read_interval, "cycle": read_cycle}


def timers(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        for event in node.events:
            if event.type == "timer":
                yield from _timer(document, node, event)


def _timer(document: Document, node: Node, event: Event) -> Iterator[Problem]:
    found = [(kind, event.xml.find(f"{{{BPMN}}}{tag}")) for tag, kind in TIMERS.items()]
    values = [(kind, text_of(xml) or "") for kind, xml in found if xml is not None]
    if len(values) != 1:
        text = f"the timer has {len(values) or 'no'} value{'s' if len(values) > 1 else ''}"
        yield document.problem(node, RULE, text, "Give it one: a date, a duration or a cycle.")
        return
    kind, text_value = values[0]
    if kind == "cycle" and node.tag == "intermediateCatchEvent":
        text = "a timer catch event cannot repeat"
        yield document.problem(node, RULE, text, "Use a duration or a date.")
    if is_expression(text_value):
        yield from _before_any_variable(document, node, kind, text_value)
    elif _READERS[kind](text_value) is None:
        text = f"'{text_value}' is not a {kind} that can be read"
        cron = " Cron expressions are not run." if kind == "cycle" else ""
        yield document.problem(node, RULE, text, f"Write it like {_EXAMPLES[kind]}, or as an expression.{cron}")


def _before_any_variable(document: Document, node: Node, kind: str, text_value: str) -> Iterator[Problem]:
    """A start timer of a process is computed when it is deployed."""
    if not node.starts_process:
        return
    try:
        names = compiled(text_value).names
    except FeelSyntaxError:
        return
    if names:
        text = f"the {kind} of the timer that starts the process uses the variable '{names[0]}'"
        advice = f"No variable exists before an instance does: write it like {_EXAMPLES[kind]}."
        yield document.problem(node, RULE, text, advice)
