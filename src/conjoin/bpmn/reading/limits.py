"""How large a model may be: what one request would have to read, compile or set going at once.

Asked when a model is deployed or linted, before any rule, and never of what is deployed already: a model that was
accepted once is run for as long as it is there. Rules are in `rules/`; these are numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from conjoin.bpmn.analysis.sites import sites
from conjoin.bpmn.compile.activities import mapping_elements
from conjoin.bpmn.document import Document, Node
from conjoin.bpmn.expressions import compiled, is_expression
from conjoin.errors import Problem
from conjoin.feel import FeelSyntaxError

RULE = "limits"


@dataclass(frozen=True, slots=True)
class ModelLimits:
    xml_elements: int = 100_000
    processes: int = 100
    flow_nodes: int = 5_000
    expression_characters: int = 20_000
    all_expression_characters: int = 200_000
    inclusive_joins: int = 50
    flows_of_a_node: int = 500
    boundary_events: int = 100
    mappings: int = 500
    starts: int = 500
    start_name_steps: int = 10_000


LIMITS = ModelLimits()
_SPLIT = "Split the model: call activities and messages join the parts."


def over_limits(document: Document, limits: ModelLimits = LIMITS) -> tuple[Problem, ...]:
    """Everything that is too large; sizes of the whole file alone, if one of them is."""
    whole = tuple(_whole(document, limits))
    return whole or (*_parts(document, limits), *_expressions(document, limits))


def _whole(document: Document, limits: ModelLimits) -> Iterator[Problem]:
    nodes = sum(1 for _ in document.nodes)
    for count, most, what in (
        (len(document.tree.lines), limits.xml_elements, "XML elements"),
        (len(document.processes), limits.processes, "executable processes"),
        (nodes, limits.flow_nodes, "flow nodes (events, activities and gateways)"),
    ):
        if count > most:
            text = f"the file has {count:,} {what}, and {most:,} are the most"
            yield document.problem(document.part(document.tree.root), RULE, text, _SPLIT)


def _parts(document: Document, limits: ModelLimits) -> Iterator[Problem]:
    for scope in document.scopes:
        begun = sum(child.tag == "startEvent" or child.is_event_subprocess for child in scope.children)
        yield from _too_many(document, scope, begun, limits.starts, "start events and event subprocesses")
        # Each of them is asked again whenever a token of the scope moves.
        joins = sum(child.tag == "inclusiveGateway" and len(child.incoming) > 1 for child in scope.children)
        yield from _too_many(document, scope, joins, limits.inclusive_joins, "inclusive gateways with several ways in")
    for node in document.nodes:
        mapped = len(mapping_elements(node, "input")) + len(mapping_elements(node, "output"))
        yield from _too_many(document, node, len(node.outgoing), limits.flows_of_a_node, "outgoing flows")
        yield from _too_many(document, node, len(node.incoming), limits.flows_of_a_node, "incoming flows")
        yield from _too_many(document, node, len(node.boundaries), limits.boundary_events, "boundary events")
        yield from _too_many(document, node, mapped, limits.mappings, "mappings")


def _too_many(document: Document, node: Node, count: int, most: int, what: str) -> Iterator[Problem]:
    if count > most:
        yield document.problem(node, RULE, f"it has {count:,} {what}, and {most:,} are the most", _SPLIT)


def _expressions(document: Document, limits: ModelLimits) -> Iterator[Problem]:
    total = 0
    for site in sites(document):
        length = len(site.text) if is_expression(site.text) else 0
        total += length
        if length > limits.expression_characters:
            most = limits.expression_characters
            text = f"{site.what} is an expression of {length:,} characters, and {most:,} are the most"
            yield document.problem(site.part, RULE, text, "Let a worker compute it, or compute it in several steps.")
    if total > limits.all_expression_characters:
        most = limits.all_expression_characters
        text = f"the expressions of the file have {total:,} characters together, and {most:,} are the most"
        yield document.problem(document.part(document.tree.root), RULE, text, _SPLIT)
    yield from _start_names(document, limits)


def _start_names(document: Document, limits: ModelLimits) -> Iterator[Problem]:
    """What starts a process is computed when it is deployed, so it must not take long."""
    for process in document.processes:
        for start in process.children:
            name = _name(document, start)
            if name and len(name) <= limits.expression_characters and _is_costly(name, limits.start_name_steps):
                text = "computing the name that starts the process takes too long"
                yield document.problem(start, RULE, text, "Write the name itself.")


def _name(document: Document, start: Node) -> str | None:
    if start.tag != "startEvent" or start.event is None:
        return None
    named = document.referred(start.event.xml, "signalRef") if start.event.type == "signal" else start.caught
    return named.name if named is not None and is_expression(named.name or "") else None


def _is_costly(text: str, steps: int) -> bool:
    try:
        return not compiled(text).is_cheap(steps)
    except FeelSyntaxError:
        return False
