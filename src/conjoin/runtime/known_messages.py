"""Messages as they are stored, found by their key or by their name and correlation key."""

from collections import deque

from conjoin.runtime.messages import NewMessage
from conjoin.store import tables as t
from conjoin.store.port import Store
from conjoin.store.rows import MessageRow

MOST_KNOWN = 10
_PAGE = 1_000


def message_with_key(store: Store, key: int) -> MessageRow | None:
    return next(iter(store.rows(t.MESSAGE, {"key": key}, None, 1)), None)


def newest_messages(store: Store, like: NewMessage) -> list[MessageRow]:
    """With the same tenant, name and correlation key, and the same id if it has one; refused ones, too."""
    where = {"tenant_id": like.tenant_id, "correlation_key": like.key, "name": like.name}
    if like.message_id:
        where["message_id"] = like.message_id
    newest: deque[MessageRow] = deque(maxlen=MOST_KNOWN)
    after = None
    while True:
        rows = list(store.rows(t.MESSAGE, where, after, _PAGE))
        newest.extend(rows)
        if len(rows) < _PAGE:
            return [*reversed(newest)]
        after = (rows[-1].key,)
