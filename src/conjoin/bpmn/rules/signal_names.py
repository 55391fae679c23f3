"""A signal event names a signal that exists and has a name."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document
from conjoin.errors import Problem

RULE = "signal_names"


def signal_names(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        if node.event_type != "signal" or not node.event:
            continue
        signal = document.referred(node.event.xml, "signalRef")
        if signal is None or signal.tag != "signal":
            yield document.problem(node, RULE, f"the {node.words} names no signal", "Choose a signal for it.")
        elif not (signal.name or "").strip():
            yield document.problem(signal, RULE, f"the signal of '{node.id}' has no name", "Give it a name.")
