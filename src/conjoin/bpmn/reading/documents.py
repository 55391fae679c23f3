"""Trees to documents: any tree of the right root is read, however wrong the model is, for the rules to look at."""

from conjoin.bpmn import document as d
from conjoin.bpmn.names import BPMN, DEFINITION, FLOW_NODES
from conjoin.bpmn.reading.leniency import complete
from conjoin.bpmn.reading.xml import Tree, Xml, check_root
from conjoin.kernel.policies import PROFILES, Policies

_REFERENCES = {"message": "messageRef", "signal": "signalRef", "error": "errorRef"}
"""By which attribute an event definition of each type names its message, signal or error."""


def read_document(tree: Tree, profile: str, policies: Policies | None) -> d.Document:
    dialect = d.DIALECTS[profile]
    left_out = complete(tree) if dialect.lenient else ()
    check_root(tree)
    document = d.Document(tree, dialect, policies or Policies(PROFILES[profile]), left_out)
    for xml in tree.root:
        name = d.bpmn_name(xml)
        if name in _REFERENCES:
            kind = d.MessageElement if name == "message" else d.ModelPart
            document.roots.setdefault(xml.get("id") or "", kind(xml, tree.lines[xml]))
    for xml in tree.root.iterchildren(f"{{{BPMN}}}process"):
        if d.read_flag(xml.get("isExecutable"), default=False):
            process = _read_node(document, xml, None)
            _connect(process)
            document.processes.append(process)
    return document


def _read_node(document: d.Document, xml: Xml, scope: d.Node | None) -> d.Node:
    lines, roots = document.tree.lines, document.roots
    message = roots.get(d.plain(xml.get("messageRef")))
    node = d.Node(xml, lines[xml], scope, message=message if isinstance(message, d.MessageElement) else None)
    for child in xml:
        name = d.bpmn_name(child)
        if name in FLOW_NODES:
            node.children.append(_read_node(document, child, node))
        elif name == "sequenceFlow":
            node.flows.append(d.SequenceFlow(child, lines[child]))
        elif name.endswith(DEFINITION):
            reference = _REFERENCES.get(name.removesuffix(DEFINITION))
            refers_to = roots.get(d.plain(child.get(reference))) if reference else None
            node.events.append(d.Event(child, lines[child], refers_to))
    return node


def _connect(process: d.Node) -> None:
    """Ties flows and boundary events to the nodes that they name, anywhere in the process."""
    by_id: dict[str, d.Node] = {}
    for node in process.within():
        by_id.setdefault(node.id, node)
    for scope in (process, *process.within()):
        for flow in scope.flows:
            flow.source = by_id.get(d.plain(flow.xml.get("sourceRef")))
            flow.target = by_id.get(d.plain(flow.xml.get("targetRef")))
            if flow.source:
                flow.source.outgoing.append(flow)
            if flow.target:
                flow.target.incoming.append(flow)
    for node in process.within():
        if node.tag == "boundaryEvent":
            node.attached_to = by_id.get(d.plain(node.xml.get("attachedToRef")))
            if node.attached_to:
                node.attached_to.boundaries.append(node)
