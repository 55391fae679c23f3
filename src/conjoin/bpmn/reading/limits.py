"""How large a model may be: what one request would have to read, compile or set going at once.

Checked when a model is deployed or linted, before any rule, and never for what is deployed already: a model that was
accepted once is run for as long as it is there. Rules are in `rules/`; these are numbers.
"""

from dataclasses import dataclass

from conjoin.bpmn.analysis.expression_sites import sites
from conjoin.bpmn.document import Document, Found, ModelPart
from conjoin.bpmn.expressions import is_expression, readable
from conjoin.errors import Problem


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
    found = list(_whole(document, limits)) or [*_parts(document, limits), *_expressions(document, limits)]
    return tuple(document.problem(part, "limits", text, advice) for part, text, advice in found)


def _whole(document: Document, limits: ModelLimits) -> Found:
    for count, most, what in (
        (len(document.tree.lines), limits.xml_elements, "XML elements"),
        (len(document.processes), limits.processes, "executable processes"),
        (sum(1 for _ in document.nodes), limits.flow_nodes, "flow nodes (events, activities and gateways)"),
    ):
        yield from _too_many(document.root, count, most, what, "the file")


def _parts(document: Document, limits: ModelLimits) -> Found:
    for scope in document.scopes:
        begun = sum(child.tag == "startEvent" or child.is_event_subprocess for child in scope.children)
        yield from _too_many(scope, begun, limits.starts, "start events and event subprocesses")
        # Each of them is checked again whenever a token of the scope moves.
        joins = sum(child.tag == "inclusiveGateway" and len(child.incoming) > 1 for child in scope.children)
        yield from _too_many(scope, joins, limits.inclusive_joins, "inclusive gateways with several ways in")
    for node in document.nodes:
        mapped = len(node.mappings("input")) + len(node.mappings("output"))
        yield from _too_many(node, len(node.outgoing), limits.flows_of_a_node, "outgoing flows")
        yield from _too_many(node, len(node.incoming), limits.flows_of_a_node, "incoming flows")
        yield from _too_many(node, len(node.boundaries), limits.boundary_events, "boundary events")
        yield from _too_many(node, mapped, limits.mappings, "mappings")


def _too_many(part: ModelPart, count: int, most: int, what: str, who: str = "it") -> Found:
    if count > most:
        yield part, f"{who} has {count:,} {what}, and {most:,} are the most", _SPLIT


def _expressions(document: Document, limits: ModelLimits) -> Found:
    most, most_together = limits.expression_characters, limits.all_expression_characters
    total = 0
    for site in sites(document):
        length = len(site.text) if is_expression(site.text) else 0
        total += length
        if length > most:
            text = f"{site.what} is an expression of {length:,} characters, and {most:,} are the most"
            yield site.part, text, "Let a worker compute it, or compute it in several steps."
    if total > most_together:
        text = f"the expressions of the file have {total:,} characters together, and {most_together:,} are the most"
        yield document.root, text, _SPLIT
    for start in (start for process in document.processes for start in process.starts):
        # What starts a process is computed when it is deployed, so it must not take long.
        name = (start.awaited.name if start.awaited else None) or ""
        expression = readable(name) if len(name) <= most else None
        if expression and not expression.is_cheap(limits.start_name_steps):
            yield start, "computing the name that starts the process takes too long", "Write the name itself."
