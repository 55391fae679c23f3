"""A loop in which nothing waits is refused: once entered it could run for ever, and nobody could stop it.

Followed are sequence flows, links, the ways into and out of embedded subprocesses, and calls of processes in the same
file. A loop needs a task, script, throw event or call in it, or has to be of exclusive gateways alone: one that goes
through a parallel or inclusive gateway only may well wait there for another branch.
"""

from conjoin.bpmn.analysis.graph import knots, way_round
from conjoin.bpmn.analysis.ways import Links, link_catches, link_targets
from conjoin.bpmn.document import Document, Found, Node, attribute

_GATEWAYS = ("exclusiveGateway", "parallelGateway", "inclusiveGateway")
_PASSING = ("task", "manualTask", "scriptTask", "businessRuleTask", "intermediateThrowEvent", "callActivity")


def straight_loops(document: Document) -> Found:
    processes = {process.id: process for process in document.processes}
    nodes = [node for node in document.nodes if _passes(node)]
    passing, links = set(nodes), {scope: link_catches(scope) for scope in document.scopes}
    follows = {node: [after for after in _next(node, processes, links) if after in passing] for node in nodes}
    choices = {node: [it for it in after if _chooses(it)] for node, after in follows.items() if _chooses(node)}
    workers = (next((node for node in knot if node.tag in _PASSING), None) for knot in knots(follows))
    loops = [way_round(worker, follows) for worker in workers if worker]
    for loop in (*loops, *(way_round(knot[0], choices) for knot in knots(choices))):
        way = " -> ".join(node.id for node in (*loop, loop[0]))
        advice = "Put something into the loop that waits: a service or user task, a message or a timer."
        yield loop[0], f"nothing waits in the loop {way}", advice


def _passes(node: Node) -> bool:
    """Whether a token goes on at once."""
    if node.extension("taskDefinition") is not None:
        return False  # A worker does it, however long it takes.
    if node.tag == "startEvent":
        return not node.events
    if node.tag == "intermediateCatchEvent":
        return node.catches_link
    return node.tag in (*_PASSING, *_GATEWAYS, "endEvent", "subProcess") and not node.is_event_subprocess


def _chooses(node: Node) -> bool:
    return node.tag == "exclusiveGateway"


def _next(node: Node, processes: dict[str, Node], links: dict[Node, Links]) -> list[Node]:
    if node.tag == "subProcess":
        return _begin(node)
    if node.tag == "callActivity":
        called = node.extension("calledElement")
        process = None if called is None else processes.get(attribute(called, "processId") or "")
        return _begin(process) if process else []
    if node.throws_link and node.scope:
        return link_targets(node, links[node.scope])
    if node.outgoing:
        return node.targets
    # Where a branch ends, so may the scope around it.
    return node.scope.targets if node.scope else []


def _begin(scope: Node) -> list[Node]:
    return [start for start in scope.starts if not start.events]
