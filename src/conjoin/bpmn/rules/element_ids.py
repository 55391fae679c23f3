"""Every element that can be talked about has an id, and no id is used twice in a file."""

from conjoin.bpmn.document import Document, Found
from conjoin.bpmn.names import BPMN, BPMN_DIAGRAM, WORDS


def element_ids(document: Document) -> Found:
    for part in (*document.processes, *document.nodes, *document.flows):
        if not part.id:
            yield part, f"the {WORDS.get(part.tag, part.tag)} has no id", "Give it an id of its own."
    first: dict[str, int] = {}
    for xml, line in document.tree.lines.items():
        identifier = xml.get("id")
        if not identifier or not str(xml.tag).startswith((f"{{{BPMN}}}", f"{{{BPMN_DIAGRAM}}}")):
            continue
        if identifier in first:
            text = f"the id '{identifier}' is already used on line {first[identifier]}"
            yield document.part(xml), text, "Give one of the two another id."
        first.setdefault(identifier, line)
