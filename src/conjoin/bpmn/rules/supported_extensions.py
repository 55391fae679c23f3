"""Extensions of Zeebe that would change what runs, and are not run here, are refused by name; none is written twice."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, attribute, local_name
from conjoin.bpmn.names import BPMN, ZEEBE
from conjoin.bpmn.reading.xml import Xml
from conjoin.errors import Problem

RULE = "supported_extensions"

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


def supported_extensions(document: Document) -> Iterator[Problem]:
    for process in document.processes:
        for extensions in process.xml.iter(f"{{{BPMN}}}extensionElements"):
            seen: set[str] = set()
            for xml in extensions:
                if str(xml.tag).startswith(f"{{{ZEEBE}}}"):
                    yield from _refused(document, xml, seen)
                    seen.add(local_name(xml))


def _refused(document: Document, xml: Xml, seen: set[str]) -> Iterator[Problem]:
    name = local_name(xml)
    part = document.part(xml)
    if name in seen and name not in _READ_OVER:
        yield document.problem(part, RULE, f"<zeebe:{name}> is written twice", "Keep one of them.")
    if name in _RUN | _READ_OVER or (name in _LISTENERS and len(xml) == 0):
        yield from _binding(document, xml)
    else:
        advice = _INSTEAD.get(name, "Remove it, if the process is right without it.")
        yield document.problem(part, RULE, f"<zeebe:{name}> is not run here", advice)


def _binding(document: Document, xml: Xml) -> Iterator[Problem]:
    binding = attribute(xml, "bindingType")
    if local_name(xml) == "calledElement" and binding not in (None, "latest"):
        text = f'bindingType="{binding}" is not run here'
        yield document.problem(document.part(xml), RULE, text, "Only the latest version can be called: use latest.")
