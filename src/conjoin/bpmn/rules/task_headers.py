"""The headers of a job have names, each of its own."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, attribute
from conjoin.bpmn.names import ZEEBE
from conjoin.errors import Problem

RULE = "task_headers"


def task_headers(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        seen: set[str] = set()
        for headers in node.extensions("taskHeaders"):
            for xml in headers.iterchildren(f"{{{ZEEBE}}}header"):
                key = attribute(xml, "key") or ""
                if not key:
                    yield document.problem(document.part(xml), RULE, "a task header has no key", "Give it a name.")
                elif key in seen:
                    text = f"the task header '{key}' is written twice"
                    yield document.problem(document.part(xml), RULE, text, "Keep one of them.")
                seen.add(key)
