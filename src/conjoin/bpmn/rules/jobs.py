"""What works outside has a job type; a message that is sent is a job too (S8)."""

from conjoin.bpmn.document import Document, Found, Node, attribute
from conjoin.bpmn.names import THROWING
from conjoin.bpmn.rule import each_node

_JOB = '<zeebe:taskDefinition type="..."/>'


@each_node
def jobs(document: Document, node: Node) -> Found:
    definition = node.extension("taskDefinition")
    sends = node.tag in THROWING and node.event_type == "message"
    if definition is not None:
        part = document.part(definition)
        if not (attribute(definition, "type") or "").strip():
            yield part, "the job type is empty", "Name the type of worker that does the work."
        if attribute(definition, "retries") == "":
            yield part, "the number of retries is empty", "Write a number, or leave it out for 3."
        if node.extension("script") is not None:
            yield part, f"the {node.words} has both a script and a job type", "Keep one of them."
    elif _has_other_work(node):
        return
    elif sends or node.tag in ("serviceTask", "sendTask"):
        yield node, f"the {node.words} has no job type", f"Add {_JOB}: a worker of that type does the work."
    elif node.tag in ("scriptTask", "businessRuleTask"):
        text = f"the {node.words} has neither a script nor a job type"
        yield node, text, f"Add <zeebe:script .../> with a FEEL expression, or {_JOB}."


def _has_other_work(node: Node) -> bool:
    """What is not run here is named by another rule; it is not also called missing."""
    if any(node.extension(name) is not None for name in ("script", "calledDecision", "publishMessage")):
        return True
    return any(event.extension("publishMessage") is not None for event in node.events)
