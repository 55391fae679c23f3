"""What starts a process is known when it is deployed: constant names, each of one start event only (S3, G5)."""

from conjoin.bpmn.document import Document, Found, ModelPart, Node
from conjoin.bpmn.expressions import compiled, is_expression
from conjoin.feel import FeelSyntaxError
from conjoin.kernel.plan import value_or_null


def start_names(document: Document) -> Found:
    by_message: dict[ModelPart, Node] = {}
    for process in document.processes:
        by_name: dict[tuple[str, str], Node] = {}
        for start in process.starts:
            named = start.awaited
            if named is None or not named.name:
                continue
            if is_expression(named.name) and not _is_constant_text(named.name):
                text = f"the name '{named.name}' of the {named.tag} that starts the process is not a constant text"
                yield start, text, "No variable exists before an instance does: write the name itself."
            holder = by_name.get((named.tag, named.name)) or by_message.get(named)
            if holder:
                text = f"it starts on the same {named.tag} '{named.name}' as the start event '{holder.id}'"
                yield start, text, f"Give each start event a {named.tag} of its own."
            by_name.setdefault((named.tag, named.name), start)
            if named.tag == "message":
                by_message.setdefault(named, start)


def _is_constant_text(name: str) -> bool:
    """One that cannot be read is for the rule `expressions`."""
    try:
        expression = compiled(name)
    except FeelSyntaxError:
        return True
    return expression.is_constant and isinstance(value_or_null(expression, {}, 0), str)
