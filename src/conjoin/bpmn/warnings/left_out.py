"""What the author left out and the dialect added: the model runs as if it had been written."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document
from conjoin.errors import Problem


def left_out(document: Document) -> Iterator[Problem]:
    yield from document.left_out
