"""A message without a correlation key, where the dialect allows it: how it is matched then."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, MessageElement
from conjoin.bpmn.keys import correlation_key
from conjoin.errors import Problem

_MATCHED_BY = {
    "key": "its name alone: whoever sends it gives no key",
    "business_key": "the business id of the instance",
    "variables": "the key of the instance",
}
"""By the policy `match`."""


def keyless_messages(document: Document) -> Iterator[Problem]:
    if not document.dialect.keyless:
        return
    seen: set[MessageElement] = set()
    for node in document.nodes:
        message = node.caught
        if message is None or message in seen or node.starts_process or correlation_key(node) is not None:
            continue
        seen.add(message)
        by = _MATCHED_BY[document.policies.of(message.name or "").match]
        text = f"the message '{message.name}' has no correlation key; it is matched by {by}"
        advice = 'Add <zeebe:subscription correlationKey="=orderId"/> to tell instances apart by a variable.'
        yield document.problem(message, "keyless_messages", text, advice)
