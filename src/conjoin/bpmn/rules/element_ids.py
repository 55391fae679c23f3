"""Every element that can be talked about has an id, and no id is used twice in a file."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document
from conjoin.bpmn.names import BPMN, BPMN_DIAGRAM, WORDS
from conjoin.errors import Problem

RULE = "element_ids"


def element_ids(document: Document) -> Iterator[Problem]:
    for part in (*document.processes, *document.nodes, *document.flows):
        if not part.id:
            yield document.problem(
                part, RULE, f"the {WORDS.get(part.tag, part.tag)} has no id", "Give it an id of its own."
            )
    yield from _repeated(document)


def _repeated(document: Document) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for xml, line in document.tree.lines.items():
        identifier = xml.get("id")
        if not identifier or not str(xml.tag).startswith((f"{{{BPMN}}}", f"{{{BPMN_DIAGRAM}}}")):
            continue
        if identifier in first:
            text = f"the id '{identifier}' is already used on line {first[identifier]}"
            yield document.problem(document.part(xml), RULE, text, "Give one of the two another id.")
        first.setdefault(identifier, line)
