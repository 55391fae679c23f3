"""A message with subscriptions of several dialects: the key of the first counts, `zeebe:` before `fleans:`."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, MessageElement
from conjoin.errors import Problem


def two_dialects(document: Document) -> Iterator[Problem]:
    for part in document.roots.values():
        if isinstance(part, MessageElement) and len(part.keys) > 1:
            found = len(part.keys)
            text = f"the message '{part.name}' has subscriptions of {found} dialects; the key '{part.key}' counts"
            yield document.problem(part, "two_dialects", text, "Keep the one that is meant.")
