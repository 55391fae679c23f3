"""What a user task says to people is of the right kind, where it is written out: dates, and a priority up to 100."""

from conjoin.bpmn.document import Document, Found, Node, attribute
from conjoin.bpmn.expressions import is_expression
from conjoin.bpmn.rule import each_node
from conjoin.times.iso8601 import read_instant

_LARGEST_PRIORITY = 100


@each_node
def user_tasks(document: Document, node: Node) -> Found:
    for xml in node.extensions("taskSchedule"):
        for name in ("dueDate", "followUpDate"):
            value = attribute(xml, name)
            if value and not is_expression(value) and read_instant(value) is None:
                text = f"the {name} '{value}' is not a date that can be read"
                yield document.part(xml), text, "Write it like 2030-01-31T08:00:00Z, or as an expression."
    for xml in node.extensions("priorityDefinition"):
        value = attribute(xml, "priority") or ""
        is_priority = value.isascii() and value.isdigit() and int(value) <= _LARGEST_PRIORITY
        if not is_expression(value) and not is_priority:
            text = f"the priority '{value}' is not a number from 0 to {_LARGEST_PRIORITY}"
            yield document.part(xml), text, "Write a number, or an expression."
