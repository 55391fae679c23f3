"""Columns of many rows as parameters: arrays, written here as a whole, since adapting them value by value would cost
more than all the rest of a commit.

Numbers go in PostgreSQL's binary form. Texts go joined by a character that is in none of them and are parted by the
server; where that cannot be, they go as an array in quotes, so a statement has two forms. No text may hold NUL.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple

from psycopg.adapt import Dumper
from psycopg.pq import Format

_PART, _NULL = "\x1f", "\x1e"
_SPLIT = r"string_to_array(%s, E'\x1f', E'\x1e')"
_HEADER = Struct(">iiiii")
_BIGINT = 20
_NULL_NUMBER = b"\xff\xff\xff\xff"
TYPE_NAMES = {int: "bigint", str: "text", bytes: "bytea"}


class Arrays(NamedTuple):
    split: bool
    values: list[Any]


class NumberArray(bytes):
    """A bigint[] in binary."""


class NumberArrayDumper(Dumper):
    format = Format.BINARY
    oid = 1016

    def dump(self, obj: Any) -> bytes:
        return bytes(obj)


def arrays(types: Sequence[type], rows: Iterable[Sequence[Any]]) -> Arrays:
    """The rows column by column, and for which form of the statement."""
    columns = list(zip(*rows, strict=True))
    values = [
        _joined(column) if type_ is str else number_array(column) for type_, column in zip(types, columns, strict=True)
    ]
    if None not in values:
        return Arrays(True, values)
    quoted = (text_array(column) if type_ is str else None for type_, column in zip(types, columns, strict=True))
    return Arrays(False, [value if text is None else text for value, text in zip(values, quoted, strict=True)])


def unnested(types: Iterable[type], *, split: bool, before: Sequence[str] = ()) -> str:
    """The rows again, in a statement."""
    texts = _SPLIT if split else "%s::text[]"
    return f"unnest({', '.join([*before, *('%s::bigint[]' if type_ is int else texts for type_ in types)])})"


def number_array(values: Sequence[int | None]) -> NumberArray:
    count, nulls = len(values), values.count(None)
    header = _HEADER.pack(1, nulls > 0, _BIGINT, count, 1)
    if not nulls:
        numbers = [8] * (2 * count)
        numbers[1::2] = values  # type: ignore[assignment]
        return NumberArray(header + _pairs(count).pack(*numbers))
    if nulls == count:
        return NumberArray(header + _NULL_NUMBER * count)
    one = _pairs(1).pack
    return NumberArray(header + b"".join([_NULL_NUMBER if value is None else one(8, value) for value in values]))


def text_array(values: Sequence[str | None]) -> str:
    if not values:
        return "{}"
    if None in values:
        return "{" + ",".join("null" if value is None else text_array((value,))[1:-1] for value in values) + "}"
    joined = "\0".join(values)  # type: ignore[arg-type]
    return '{"' + joined.replace("\\", "\\\\").replace('"', '\\"').replace("\0", '","') + '"}'


def _joined(values: Sequence[str | None]) -> str | None:
    """None where the server could not part them again; an empty text alone would be no text."""
    nulls = values.count(None)
    texts = [_NULL if value is None else value for value in values] if nulls else values
    joined = _PART.join(texts)  # type: ignore[arg-type]
    is_clear = len(values) > 1 and joined.count(_PART) == len(values) - 1 and joined.count(_NULL) == nulls
    return joined if is_clear else None


@lru_cache(maxsize=64)
def _pairs(count: int) -> Struct:
    """Numbers, each behind its length."""
    return Struct(">" + "iq" * count)
