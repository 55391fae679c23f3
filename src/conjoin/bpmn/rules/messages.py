"""Messages and signals: which one is waited for, with which key, and that no two hear the same."""

import re
from collections.abc import Sequence

from conjoin.bpmn.document import Document, Found, MessageElement, ModelPart, Node
from conjoin.bpmn.expressions import is_expression, readable
from conjoin.bpmn.names import CATCHING
from conjoin.bpmn.rule import each_node
from conjoin.kernel.plan import value_or_null

_PATH = re.compile(r"\s*[^\W\d]\w*(\.[^\W\d]\w*)*\s*")
_EXAMPLE = '<zeebe:subscription correlationKey="=orderId"/>'


def message_references(document: Document) -> Found:
    """Whoever waits for a message says which: one that exists and has a name (S1, S2)."""
    unnamed = set()
    for node in document.nodes:
        message = node.caught
        if node.tag != "receiveTask" and (node.tag not in CATCHING or node.event_type != "message"):
            continue
        if message is None:
            named = (node.xml if node.tag == "receiveTask" else node.events[0].xml).get("messageRef")
            text = f"its message '{named}' does not exist" if named else f"the {node.words} names no message"
            yield node, text, "Choose a message for it."
        elif not (message.name or "").strip() and message not in unnamed:
            unnamed.add(message)
            text = f"the message has no name, but '{node.id}' waits for it"
            yield message, text, "Give it the name under which it is published."


def correlation_keys(document: Document) -> Found:
    """Whoever waits for a message inside an instance says with which key (S1, K7, L13).

    In profile `zeebe` the key is an expression. In other dialects the bare name of a variable will do, and a message of
    Camunda 7, which has no key at all, passes in those that know it (a warning says how it is matched then).
    """
    judged = set()
    for node in document.nodes:
        message = node.caught
        if message is None or node.starts_process:
            continue
        key = node.correlation_key
        # On one message it is said once, however many wait for it.
        if (message, key) not in judged:
            judged.add((message, key))
            yield from _key(document, node, message, key)


def _key(document: Document, node: Node, message: MessageElement, key: str | None) -> Found:
    most = max(map(len, message.keys), default=0)
    if most > 1:
        text = f"the message '{message.name}' has {most} subscriptions"
        yield message, text, "Keep one: a message is matched by one key."
    if key is None:
        if not document.dialect.keyless:
            text = f"the message '{message.name}' has no correlation key, but '{node.id}' waits for it"
            yield message, text, f"Add {_EXAMPLE} to the message."
    elif not is_expression(key) and not document.dialect.bare_keys:
        text = f"the correlation key '{key}' of the message '{message.name}' is not an expression"
        yield message, text, f"Begin it with an equals sign: ={key.strip()}"
    elif not is_expression(key) and not _PATH.fullmatch(key):
        text = f"the correlation key '{key}' is neither an expression nor the name of a variable"
        yield message, text, "Write an expression such as =orderId."


def start_names(document: Document) -> Found:
    """What starts a process is known when it is deployed: constant names, each of one start event only (S3, G5)."""
    by_message: dict[ModelPart, Node] = {}
    for process in document.processes:
        by_name: dict[tuple[str, str], Node] = {}
        for start in process.starts:
            named = start.awaited
            if named is None or not named.name:
                continue
            name = readable(named.name)
            if name and not (name.is_constant and isinstance(value_or_null(name, {}, 0), str)):
                text = f"the name '{named.name}' of the {named.tag} that starts the process is not a constant text"
                yield start, text, "No variable exists before an instance does: write the name itself."
            holder = by_name.get((named.tag, named.name)) or by_message.get(named)
            if holder:
                text = f"it starts on the same {named.tag} '{named.name}' as the start event '{holder.id}'"
                yield start, text, f"Give each start event a {named.tag} of its own."
            by_name.setdefault((named.tag, named.name), start)
            if named.tag == "message":
                by_message.setdefault(named, start)


def duplicate_catches(document: Document) -> Found:
    """No two events that wait together in one place may hear the same thing (S4, I3, L14).

    Names are compared as they are written, so two different expressions may well come to the same name (I5).
    """
    for node in document.nodes:
        yield from repeated(node.boundaries, f"two boundary events of '{node.id}'")
        name = node.caught.name if node.tag == "receiveTask" and node.caught else None
        for boundary in node.boundaries:
            if name and boundary.caught and boundary.caught.name == name:
                text = f"it waits for the same message '{name}' as the receive task '{node.id}' that it is attached to"
                yield boundary, text, "Give one of them another message."
    for scope in document.scopes:
        starts = [start for child in scope.children if child.is_event_subprocess for start in child.starts]
        yield from repeated(starts, f"two event subprocesses of '{scope.id}'")


def repeated(nodes: Sequence[Node], where: str) -> Found:
    """A problem for each event that hears what one before it hears."""
    seen: set[tuple[str, str | None]] = set()
    for node in nodes:
        heard = _heard(node)
        if heard in seen:
            kind, name = heard
            what = f"the same {kind} '{name}'" if name is not None else "every error"
            yield node, f"{where} wait for {what}", f"Give one of them another {kind}."
        elif heard:
            seen.add(heard)


def _heard(node: Node) -> tuple[str, str | None] | None:
    """What an event listens to, as a pair of kind and name; None for what may well be there twice."""
    event = node.event
    if event and event.type == "error":
        return "error", (event.refers_to.xml.get("errorCode") or None) if event.refers_to else None
    named = (event.message if event.type == "message" else event.refers_to) if event else None
    return (event.type, named.name) if event and named and named.name else None


@each_node
def signal_names(document: Document, node: Node) -> Found:
    """A signal event names a signal that exists and has a name."""
    if not node.event or node.event.type != "signal":
        return
    signal = node.event.refers_to
    if signal is None or signal.tag != "signal":
        yield node, f"the {node.words} names no signal", "Choose a signal for it."
    elif not (signal.name or "").strip():
        yield signal, f"the signal of '{node.id}' has no name", "Give it a name."
