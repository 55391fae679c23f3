"""Extensions of Zeebe that would change what runs, and are not run here, are refused by name; none is written twice."""

from conjoin.bpmn.document import Document, Found, attribute, local_name
from conjoin.bpmn.names import BPMN, ZEEBE
from conjoin.bpmn.reading.xml import Xml

_RUN = frozenset(
    {
        *("taskDefinition", "taskHeaders", "ioMapping", "subscription", "loopCharacteristics", "calledElement"),
        *("script", "userTask", "formDefinition", "assignmentDefinition", "taskSchedule", "priorityDefinition"),
        "versionTag",
    }
)
_READ_OVER = frozenset({"properties", "userTaskForm"})
_LISTENERS = frozenset({"executionListeners", "taskListeners"})
_INSTEAD = {
    "executionListeners": "Put a service task before or after the element.",
    "taskListeners": "Put a service task before or after the user task.",
    "calledDecision": "Decisions (DMN) are not run: give the task a job type, or a FEEL script.",
    "publishMessage": "Give the element a job type, and let its worker publish the message.",
}


def supported_extensions(document: Document) -> Found:
    for process in document.processes:
        for extensions in process.xml.iter(f"{{{BPMN}}}extensionElements"):
            seen: set[str] = set()
            for xml in extensions:
                if str(xml.tag).startswith(f"{{{ZEEBE}}}"):
                    yield from _refused(document, xml, seen)
                    seen.add(local_name(xml))


def _refused(document: Document, xml: Xml, seen: set[str]) -> Found:
    name, part, binding = local_name(xml), document.part(xml), attribute(xml, "bindingType")
    if name in seen and name not in _READ_OVER:
        yield part, f"<zeebe:{name}> is written twice", "Keep one of them."
    if name not in _RUN | _READ_OVER and (name not in _LISTENERS or len(xml)):
        advice = _INSTEAD.get(name, "Remove it, if the process is right without it.")
        yield part, f"<zeebe:{name}> is not run here", advice
    elif name == "calledElement" and binding not in (None, "latest"):
        yield part, f'bindingType="{binding}" is not run here', "Only the latest version can be called: use latest."
