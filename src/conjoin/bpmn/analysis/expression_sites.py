"""Where a model holds expressions, and which variables it reads and writes, as far as the file tells."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from conjoin.bpmn.document import Document, ModelPart, Node, attribute, bpmn_name, local_name, read_flag, text_of
from conjoin.bpmn.expressions import readable
from conjoin.bpmn.names import ZEEBE

_EITHER, _EXPRESSION = False, True

_ATTRIBUTES: dict[str, dict[str, tuple[str, bool]]] = {
    "input": {"source": ("the source of an input mapping", _EITHER)},
    "output": {"source": ("the source of an output mapping", _EXPRESSION)},
    "taskDefinition": {"type": ("the job type", _EITHER), "retries": ("the number of retries", _EITHER)},
    "calledElement": {"processId": ("the id of the called process", _EITHER)},
    "script": {"expression": ("the script", _EXPRESSION)},
    "loopCharacteristics": {
        "inputCollection": ("the input collection", _EXPRESSION),
        "outputElement": ("the output element", _EXPRESSION),
    },
    "assignmentDefinition": {
        "assignee": ("the assignee", _EITHER),
        "candidateGroups": ("the candidate groups", _EITHER),
        "candidateUsers": ("the candidate users", _EITHER),
    },
    "taskSchedule": {"dueDate": ("the due date", _EITHER), "followUpDate": ("the follow-up date", _EITHER)},
    "priorityDefinition": {"priority": ("the priority", _EITHER)},
}
_TEXTS = {
    "conditionExpression": ("the condition", _EXPRESSION),
    "completionCondition": ("the completion condition", _EXPRESSION),
    "timeDate": ("the date of the timer", _EITHER),
    "timeDuration": ("the duration of the timer", _EITHER),
    "timeCycle": ("the cycle of the timer", _EITHER),
}


@dataclass(frozen=True, slots=True)
class ExpressionSite:
    """A text that is an expression, or may be one. That something is not written at all is for other rules."""

    part: ModelPart
    what: str
    text: str
    must_be_expression: bool


@dataclass(frozen=True, slots=True)
class Written:
    """`anything` is true where a worker, a message or the creator of an instance may bring any variable."""

    names: set[str]
    anything: bool


def sites(document: Document) -> Iterator[ExpressionSite]:
    """Every place of the executable processes and of what they refer to."""
    for process in document.processes:
        for xml in process.xml.iter("*"):
            yield from _of_element(document.part(xml))
    # The names, codes and keys of the messages, signals and errors that are used, each once.
    seen: set[ExpressionSite] = set()
    for node in document.nodes:
        for part in (node.message, *(event.refers_to for event in node.events)):
            for site in _of_root(part, node) if part else ():
                if site not in seen:
                    seen.add(site)
                    yield site


def _of_element(part: ModelPart) -> Iterator[ExpressionSite]:
    name = bpmn_name(part.xml)
    if name in _TEXTS:
        yield ExpressionSite(part, _TEXTS[name][0], text_of(part.xml) or "", _TEXTS[name][1])
    elif str(part.xml.tag).startswith(f"{{{ZEEBE}}}"):
        for key, (what, must) in _ATTRIBUTES.get(local_name(part.xml), {}).items():
            text = attribute(part.xml, key)
            if text:
                yield ExpressionSite(part, what, text, must)


def _of_root(part: ModelPart, node: Node) -> Iterator[ExpressionSite]:
    if part.tag == "error":
        yield ExpressionSite(part, "the error code", part.xml.get("errorCode") or "", _EITHER)
        return
    yield ExpressionSite(part, f"the name of the {part.tag}", part.name or "", _EITHER)
    if node.caught is part:
        yield ExpressionSite(part, "the correlation key", node.correlation_key or "", _EITHER)


def reads(document: Document) -> Counter[str]:
    """How many places of the file read each variable."""
    expressions = (readable(site.text) for site in sites(document))
    return Counter(name for expression in expressions if expression for name in expression.names)


def writes(process: Node) -> Written:
    names: set[str] = set()
    anything = False
    for node in process.within():
        outputs, inputs = (
            {(attribute(xml, "target") or "").split(".")[0] for xml in node.mappings(kind)}
            for kind in ("output", "input")
        )
        names |= outputs | inputs | _own(node)
        anything = anything or (_brings_anything(node) and not outputs)
    return Written(names, anything)


def _own(node: Node) -> set[str]:
    """What an element writes by itself: the result of a script, the variables of a loop."""
    script = node.extension("script")
    found = set() if script is None else {attribute(script, "resultVariable") or ""}
    loop = None if node.loop is None else ModelPart(node.loop, node.line).extension("loopCharacteristics")
    if loop is not None:
        found |= {"loopCounter", attribute(loop, "inputElement") or "", attribute(loop, "outputCollection") or ""}
    return found


def _brings_anything(node: Node) -> bool:
    if node.starts_process:
        return node.event_type != "timer"
    if node.tag == "callActivity":
        return read_flag(attribute(node.extension("calledElement"), "propagateAllChildVariables"), True)
    works = node.extension("taskDefinition") is not None or node.tag == "userTask"
    return works or node.caught is not None or node.event_type == "signal"
