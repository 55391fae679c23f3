"""Leniency: what the examples of documents leave out is added to the tree, as BPMN means it, each with a warning.

No namespace of BPMN, no target namespace, a process that does not say whether it runs, no start event: such a process
begins at every element that nothing leads to. Only lenient dialects are read so; the content that was sent is kept as
it is. What the author did write is never changed.
"""

from collections.abc import Iterator

from lxml import etree

from conjoin.bpmn.document import ModelPart, bpmn_name, read_flag
from conjoin.bpmn.names import BPMN, FLOW_NODES
from conjoin.bpmn.reading.xml import Tree, Xml

_TARGET = "urn:conjoin:model"
_START = "conjoin_start"
_NEVER_FIRST = ("boundaryEvent", "startEvent")


def complete(tree: Tree) -> tuple[tuple[ModelPart, str, str], ...]:
    """Add what was left out; the answer is a warning for each addition."""
    return tuple((ModelPart(xml, tree.lines[xml]), text, advice) for xml, text, advice in _completed(tree))


def _completed(tree: Tree) -> Iterator[tuple[Xml, str, str]]:
    root = tree.root
    if root.tag == "definitions":
        for xml in list(root.iter(etree.Element)):
            if "}" not in xml.tag:
                xml.tag = f"{{{BPMN}}}{xml.tag}"
        yield root, "the file names no namespace of BPMN", f'Add xmlns="{BPMN}" to <definitions>.'
    if root.tag != f"{{{BPMN}}}definitions":
        return
    if root.get("targetNamespace") is None:
        root.set("targetNamespace", _TARGET)
        yield root, "the file has no targetNamespace", f'Add targetNamespace="{_TARGET}".'
    processes = list(root.iterchildren(f"{{{BPMN}}}process"))
    if not any(_is_executable(process) for process in processes):
        # Where one says that it runs, the silence of the others means that they do not; an empty pool never runs.
        for process in processes:
            if process.get("isExecutable") is None and _nodes(process):
                process.set("isExecutable", "true")
                yield process, "the process does not say whether it runs; it does", 'Add isExecutable="true".'
    for process in processes:
        first = _first(process) if _is_executable(process) else []
        if first:
            _add_start(tree, process, first)
            names = " and ".join(f"'{xml.get('id')}'" for xml in first)
            yield process, f"the process has no start event; it begins at {names}", "Add a start event."


def _is_executable(process: Xml) -> bool:
    return read_flag(process.get("isExecutable"), False)


def _nodes(process: Xml) -> list[Xml]:
    return [child for child in process if bpmn_name(child) in FLOW_NODES]


def _first(process: Xml) -> list[Xml]:
    """The elements that no flow leads to, which BPMN starts together where there is no start event."""
    nodes = _nodes(process)
    if any(bpmn_name(xml) == "startEvent" for xml in nodes):
        return []
    led_to = {flow.get("targetRef") for flow in process.iterchildren(f"{{{BPMN}}}sequenceFlow")}
    return [
        xml
        for xml in nodes
        if bpmn_name(xml) not in _NEVER_FIRST
        and xml.get("id")
        and xml.get("id") not in led_to
        and not read_flag(xml.get("triggeredByEvent"), False)
        and not read_flag(xml.get("isForCompensation"), False)
    ]


def _add_start(tree: Tree, process: Xml, first: list[Xml]) -> None:
    taken = {xml.get("id") for xml in tree.root.iter(etree.Element)}
    start_id = _free(_START, taken)
    added = [etree.Element(f"{{{BPMN}}}startEvent", {"id": start_id})]
    for xml in first:
        ends = {"sourceRef": start_id, "targetRef": xml.get("id")}
        flow_id = _free(f"{start_id}_{xml.get('id')}", taken)
        added.append(etree.Element(f"{{{BPMN}}}sequenceFlow", {"id": flow_id, **ends}))
    place = process.index(_nodes(process)[0])
    for number, xml in enumerate(added):
        process.insert(place + number, xml)
        tree.lines[xml] = tree.lines[process]


def _free(wanted: str, taken: set[str | None]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name
