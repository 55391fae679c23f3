"""An event-based gateway waits for two or more events that are its own, each with another name (K7)."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node
from conjoin.bpmn.rules.duplicate_catches import repeated
from conjoin.errors import Problem

RULE = "event_gateways"
_BRANCHES = ("message", "timer", "signal")


def event_gateways(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        if node.tag == "eventBasedGateway":
            yield from _branches(document, node)


def _branches(document: Document, gateway: Node) -> Iterator[Problem]:
    if len(gateway.outgoing) < 2:
        text = f"the event-based gateway has {len(gateway.outgoing) or 'no'} outgoing flow"
        yield document.problem(gateway, RULE, text, "Give it two or more, each to a catch event.")
    targets = [flow.target for flow in gateway.outgoing if flow.target]
    for target in targets:
        if target.tag != "intermediateCatchEvent" or target.event_type not in _BRANCHES:
            text = f"the event-based gateway leads to the {target.words} '{target.id}'"
            yield document.problem(gateway, RULE, text, "Lead it to message, timer or signal catch events only.")
        elif any(flow.source is not gateway for flow in target.incoming):
            text = f"'{target.id}' behind the event-based gateway has other incoming flows"
            yield document.problem(gateway, RULE, text, "Let only the gateway lead to it, or draw a second event.")
    yield from repeated(document, targets, RULE, f"two branches of the gateway '{gateway.id}'")
