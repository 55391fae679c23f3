"""What works outside has a job type; a message that is sent is a job too (S8)."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node, attribute
from conjoin.bpmn.names import THROWING
from conjoin.errors import Problem

RULE = "jobs"
_JOB = '<zeebe:taskDefinition type="..."/>'


def jobs(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        definition = node.extension("taskDefinition")
        if definition is not None:
            yield from _definition(document, node, definition)
        elif _needs_job(node):
            text = f"the {node.words} has no job type"
            yield document.problem(node, RULE, text, f"Add {_JOB}: a worker of that type does the work.")
        elif node.tag in ("scriptTask", "businessRuleTask") and not _has_other_work(node):
            text = f"the {node.words} has neither a script nor a job type"
            yield document.problem(node, RULE, text, f"Add <zeebe:script .../> with a FEEL expression, or {_JOB}.")


def _needs_job(node: Node) -> bool:
    if node.tag in ("serviceTask", "sendTask"):
        return not _has_other_work(node)
    return node.tag in THROWING and node.event_type == "message" and not _has_other_work(node)


def _has_other_work(node: Node) -> bool:
    """What is not run here is named by another rule; it is not also called missing."""
    if any(node.extension(name) is not None for name in ("script", "calledDecision", "publishMessage")):
        return True
    return any(event.extension("publishMessage") is not None for event in node.events)


def _definition(document: Document, node: Node, definition: object) -> Iterator[Problem]:
    part = document.part(definition)
    if not (attribute(definition, "type") or "").strip():
        yield document.problem(part, RULE, "the job type is empty", "Name the type of worker that does the work.")
    if attribute(definition, "retries") == "":
        yield document.problem(part, RULE, "the number of retries is empty", "Write a number, or leave it out for 3.")
    if node.extension("script") is not None:
        yield document.problem(part, RULE, f"the {node.words} has both a script and a job type", "Keep one of them.")
