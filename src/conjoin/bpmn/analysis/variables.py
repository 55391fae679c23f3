"""Which variables a process reads and writes, as far as the file tells."""

from collections import Counter
from dataclasses import dataclass

from conjoin.bpmn.analysis.sites import sites
from conjoin.bpmn.compile.activities import mapping_elements
from conjoin.bpmn.document import Document, ModelPart, Node, attribute, read_flag
from conjoin.bpmn.expressions import compiled, is_expression
from conjoin.bpmn.names import BPMN
from conjoin.feel import FeelSyntaxError

_LOOP_VARIABLES = frozenset({"loopCounter"})


@dataclass(frozen=True, slots=True)
class Written:
    """`anything` is true where a worker, a message or the creator of an instance may bring any variable."""

    names: set[str]
    anything: bool


def writes(process: Node) -> Written:
    names: set[str] = set()
    anything = False
    for node in process.within():
        targets = {(attribute(xml, "target") or "").split(".")[0] for xml in mapping_elements(node, "output")}
        inputs = {(attribute(xml, "target") or "").split(".")[0] for xml in mapping_elements(node, "input")}
        names |= targets | inputs | _own(node)
        anything = anything or (_brings_anything(node) and not targets)
    return Written(names, anything)


def _own(node: Node) -> set[str]:
    """What an element writes by itself: the result of a script, the variables of a loop."""
    script = node.extension("script")
    found = set() if script is None else {attribute(script, "resultVariable") or ""}
    xml = node.xml.find(f"{{{BPMN}}}multiInstanceLoopCharacteristics")
    loop = None if xml is None else ModelPart(xml, node.line).extension("loopCharacteristics")
    if loop is not None:
        found |= {attribute(loop, "inputElement") or "", attribute(loop, "outputCollection") or ""} | _LOOP_VARIABLES
    return found


def _brings_anything(node: Node) -> bool:
    if node.starts_process:
        return node.event_type != "timer"
    if node.tag == "callActivity":
        called = node.extension("calledElement")
        return called is None or read_flag(attribute(called, "propagateAllChildVariables"), True)
    works = node.extension("taskDefinition") is not None or node.tag == "userTask"
    return works or node.caught is not None or node.event_type == "signal"


def reads(document: Document) -> Counter[str]:
    """How many places of the file read each variable."""
    found: Counter[str] = Counter()
    for site in sites(document):
        try:
            found.update(compiled(site.text).names if is_expression(site.text) else ())
        except FeelSyntaxError:
            continue
    return found
