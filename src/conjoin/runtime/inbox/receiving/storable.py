"""What no database keeps: texts with NUL or half a pair of surrogates, names without end, values that are not JSON."""

from conjoin.kernel.inbox import InboxMessage
from conjoin.kernel.storable import LONGEST_KEY, is_text
from conjoin.runtime.codec.json_text import unstorable_json

LONGEST_ID = 256
"""Characters; an index of PostgreSQL does not hold much more than 2,000 bytes."""


def unstorable(message: InboxMessage) -> str | None:
    """Why a message cannot be stored, if it cannot."""
    hint = message.hint
    texts = {
        **{"id": message.message_id, "tenant": message.tenant_id, "type": message.type.full_name},
        **{"name": hint.name, "key": hint.correlation_key, "group": hint.group},
    }
    for field, text in texts.items():
        if not is_text(text):
            return f"{field}: has characters that are no text (NUL or half a pair)"
    if max(len(message.message_id), len(message.tenant_id)) > LONGEST_ID:
        return f"id: is longer than {LONGEST_ID} characters"
    if len(hint.correlation_key) > LONGEST_KEY:
        return f"key: is longer than {LONGEST_KEY} characters"
    problem = unstorable_json(
        [*message.type, message.encoding, dict(message.headers), hint._asdict(), message.sort_value]
    )
    if problem is not None:
        return f"hint: {problem}"
    return None
