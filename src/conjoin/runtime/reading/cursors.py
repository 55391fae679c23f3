"""Cursors: where a list goes on. To whoever gets one it is a text without a meaning; inside is the key of a row."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from conjoin.errors import InputError
from conjoin.kernel.storable import LARGEST_INT64, is_text
from conjoin.runtime.codec.json_text import NOT_JSON, json_bytes, read_client_json
from conjoin.store.tables import Table


def cursor_of(table: Table, row: Any) -> str:
    return cursor_at(table, tuple(getattr(row, column) for column in table.key))


def cursor_at(table: Table, key: tuple[Any, ...]) -> str:
    """Behind a key that need not be there."""
    return urlsafe_b64encode(json_bytes([table.name, *key])).decode().rstrip("=")


def after_of(table: Table, cursor: str | None) -> tuple[Any, ...] | None:
    """The key to go on after. Raises `InputError` for what is no cursor of this table."""
    if cursor is None:
        return None
    try:
        name, *key = read_client_json(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (*NOT_JSON, ValueError, TypeError):
        name, key = None, []
    kinds = [table.types[table.columns.index(column)] for column in table.key]
    is_key = [type(part) for part in key] == kinds and all(map(is_storable_part, key))
    if name != table.name or not is_key:
        raise InputError([f"{cursor!r:.60} is no place in this list: take the one that the page before gave"])
    return tuple(key)


def is_storable_part(part: Any) -> bool:
    """Could a column hold it? A cursor is a client's, and goes into a statement."""
    return is_text(part) if isinstance(part, str) else not isinstance(part, int) or abs(part) <= LARGEST_INT64
