"""What a user task says to people is of the right kind, where it is written out: dates, and a priority up to 100."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, attribute
from conjoin.bpmn.expressions import is_expression
from conjoin.errors import Problem
from conjoin.times.iso8601 import read_instant

RULE = "user_tasks"
_LARGEST_PRIORITY = 100


def user_tasks(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        for xml in node.extensions("taskSchedule"):
            for name in ("dueDate", "followUpDate"):
                value = attribute(xml, name)
                if value and not is_expression(value) and read_instant(value) is None:
                    text = f"the {name} '{value}' is not a date that can be read"
                    advice = "Write it like 2030-01-31T08:00:00Z, or as an expression."
                    yield document.problem(document.part(xml), RULE, text, advice)
        for xml in node.extensions("priorityDefinition"):
            value = attribute(xml, "priority") or ""
            if not is_expression(value) and not _is_priority(value):
                text = f"the priority '{value}' is not a number from 0 to {_LARGEST_PRIORITY}"
                yield document.problem(document.part(xml), RULE, text, "Write a number, or an expression.")


def _is_priority(value: str) -> bool:
    return value.isascii() and value.isdigit() and int(value) <= _LARGEST_PRIORITY
