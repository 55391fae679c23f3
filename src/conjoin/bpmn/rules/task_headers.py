"""The headers of a job have names, each of its own."""

from conjoin.bpmn.document import Document, Found, Node, attribute
from conjoin.bpmn.names import ZEEBE
from conjoin.bpmn.rule import each_node


@each_node
def task_headers(document: Document, node: Node) -> Found:
    seen: set[str] = set()
    for headers in node.extensions("taskHeaders"):
        for xml in headers.iterchildren(f"{{{ZEEBE}}}header"):
            key = attribute(xml, "key") or ""
            if not key:
                yield document.part(xml), "a task header has no key", "Give it a name."
            elif key in seen:
                yield document.part(xml), f"the task header '{key}' is written twice", "Keep one of them."
            seen.add(key)
