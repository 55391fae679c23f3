"""Warnings about messages, and about how the file was read where its author said too little or too much."""

from conjoin.bpmn.document import Document, Found, MessageElement

_MATCHED_BY = {
    "key": "its name alone: whoever sends it gives no key",
    "business_key": "the business id of the instance",
    "variables": "the key of the instance",
}
"""By the policy `match`."""


def left_out(document: Document) -> Found:
    """What the author left out and the dialect added: the model runs as if it had been written."""
    yield from document.left_out


def two_dialects(document: Document) -> Found:
    """A message with subscriptions of several dialects: the key of the first counts, `zeebe:` before `fleans:`."""
    for part in document.roots.values():
        if isinstance(part, MessageElement) and len(part.keys) > 1:
            found = len(part.keys)
            text = f"the message '{part.name}' has subscriptions of {found} dialects; the key '{part.key}' counts"
            yield part, text, "Keep the one that is meant."


def keyless_messages(document: Document) -> Found:
    """A message without a correlation key, where the dialect allows it: how it is matched then."""
    if not document.dialect.keyless:
        return
    seen: set[MessageElement] = set()
    for node in document.nodes:
        message = node.caught
        if message is None or message in seen or node.starts_process or node.correlation_key is not None:
            continue
        seen.add(message)
        by = _MATCHED_BY[document.policies.of(message.name or "").match]
        text = f"the message '{message.name}' has no correlation key; it is matched by {by}"
        advice = 'Add <zeebe:subscription correlationKey="=orderId"/> to tell instances apart by a variable.'
        yield message, text, advice


def similar_names(document: Document) -> Found:
    """Message names that differ only in case or in spaces: names are compared exactly, so these are two messages.

    Only messages that elements refer to are looked at, and no name that is computed.
    """
    used = {message for node in document.nodes for message in (node.message, *(e.message for e in node.events))}
    named = [message for message in used if message and message.name and not message.name.startswith("=")]
    first: dict[str, MessageElement] = {}
    for message in sorted(named, key=lambda message: (message.line, message.id)):
        name = message.name or ""
        other = first.setdefault("".join(name.split()).casefold(), message)
        if other.name != name:
            text = f"the message name '{name}' is almost '{other.name}' of line {other.line}"
            advice = "If they are one message, write its name in one way: names are compared letter by letter."
            yield message, text, advice
