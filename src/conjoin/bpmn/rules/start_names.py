"""What starts a process is known when it is deployed: constant names, each of one start event only (S3, G5)."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, ModelPart, Node
from conjoin.bpmn.expressions import compiled, is_expression
from conjoin.errors import Problem
from conjoin.feel import FeelSyntaxError
from conjoin.kernel.plan import value_or_null

RULE = "start_names"


def start_names(document: Document) -> Iterator[Problem]:
    by_message: dict[ModelPart, Node] = {}
    for process in document.processes:
        by_name: dict[tuple[str, str], Node] = {}
        for start in process.children:
            definition = _definition(document, start)
            if definition is None or not definition.name:
                continue
            yield from _constant(document, start, definition)
            holder = by_name.get((definition.tag, definition.name)) or by_message.get(definition)
            if holder:
                text = f"it starts on the same {definition.tag} '{definition.name}' as the start event '{holder.id}'"
                yield document.problem(start, RULE, text, f"Give each start event a {definition.tag} of its own.")
            by_name.setdefault((definition.tag, definition.name), start)
            if definition.tag == "message":
                by_message.setdefault(definition, start)


def _definition(document: Document, start: Node) -> ModelPart | None:
    """The message or signal of a start event."""
    if start.tag != "startEvent" or not start.event:
        return None
    if start.event.type == "signal":
        return document.referred(start.event.xml, "signalRef")
    return start.caught


def _constant(document: Document, start: Node, definition: ModelPart) -> Iterator[Problem]:
    name = definition.name or ""
    if not is_expression(name):
        return
    try:
        expression = compiled(name)
    except FeelSyntaxError:
        return
    if not expression.is_constant or not isinstance(value_or_null(expression, {}, 0), str):
        text = f"the name '{name}' of the {definition.tag} that starts the process is not a constant text"
        advice = "No variable exists before an instance does: write the name itself."
        yield document.problem(start, RULE, text, advice)
