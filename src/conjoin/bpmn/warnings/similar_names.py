"""Message names that differ only in case or in spaces: names are compared exactly, so these are two messages."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, MessageElement
from conjoin.errors import Problem


def similar_names(document: Document) -> Iterator[Problem]:
    first: dict[str, MessageElement] = {}
    for message in _used(document):
        name = message.name or ""
        other = first.setdefault("".join(name.split()).casefold(), message)
        if other.name != name:
            yield document.problem(
                message,
                "similar_names",
                f"the message name '{name}' is almost '{other.name}' of line {other.line}",
                "If they are one message, write its name in one way: names are compared letter by letter.",
            )


def _used(document: Document) -> list[MessageElement]:
    """The messages that elements refer to, in the order of the file; a name that is computed is not looked at."""
    used = {message for node in document.nodes for message in (node.message, *(e.message for e in node.events))}
    named = [message for message in used if message and message.name and not message.name.startswith("=")]
    return sorted(named, key=lambda message: (message.line, message.id))
