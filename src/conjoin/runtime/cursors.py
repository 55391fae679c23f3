"""Cursors: where a list goes on. To whoever gets one it is a text without a meaning; inside is the key of a row."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from conjoin.errors import InputError
from conjoin.runtime.encoding.json_text import json_bytes, read_json
from conjoin.store.tables import Table


def cursor_of(table: Table, row: Any) -> str:
    key = [getattr(row, column) for column in table.key]
    return urlsafe_b64encode(json_bytes([table.name, *key])).decode().rstrip("=")


def after_of(table: Table, cursor: str | None) -> tuple[Any, ...] | None:
    """The key to go on after. Raises `InputError` for what is no cursor of this table."""
    if cursor is None:
        return None
    try:
        name, *key = read_json(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError):
        name, key = None, []
    kinds = [table.types[table.columns.index(column)] for column in table.key]
    is_key = [type(part) for part in key] == kinds and all(abs(part) < 2**63 for part in key if type(part) is int)
    if name != table.name or not is_key:
        raise InputError([f"{cursor!r} is no place in this list: take the one that the page before gave"])
    return tuple(key)
