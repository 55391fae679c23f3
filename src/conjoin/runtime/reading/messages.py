"""Messages as they are stored, found by their key or by their name and correlation key."""

from conjoin.runtime.client_api.messages import NewMessage
from conjoin.store import tables as t
from conjoin.store.port import RowOrder, Store
from conjoin.store.rows import MessageRow

MOST_KNOWN = 10


def message_with_key(store: Store, key: int) -> MessageRow | None:
    return next(iter(store.rows(t.MESSAGE, {"key": key}, None, 1)), None)


def newest_messages(store: Store, like: NewMessage) -> list[MessageRow]:
    """With the same tenant, name and correlation key, and the same id if it has one; refused ones, too."""
    where = {"tenant_id": like.tenant_id, "correlation_key": like.key, "name": like.name}
    if like.message_id:
        where["message_id"] = like.message_id
    return list(store.rows(t.MESSAGE, where, None, MOST_KNOWN, RowOrder(backward=True)))
