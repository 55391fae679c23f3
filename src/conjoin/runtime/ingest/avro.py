"""Avro's binary form -> values as JSON has them, by the schema that it was written with. It only reads.

A schema becomes functions, once. What is no Avro of the schema is `NotAvro`, and costs no more than its bytes: what a
list claims to hold is bounded by what there is. Bytes stay bytes; instants, dates and times are texts of ISO 8601.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

_MOST_EMPTY = 1_000
"""So many items may take no bytes at all."""
_MOST_SHIFT = 63
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_EPOCH = datetime(1970, 1, 1)
_PER_SECOND = {"millis": 1_000, "micros": 1_000_000}


class NotAvro(Exception):  # noqa: N818 - the name says what is the matter
    """Bytes that are none, or a schema that is none."""


class AvroCursor:
    """Where reading stands in the bytes of one record."""

    __slots__ = ("_items", "at", "data")

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self._items = len(data) + _MOST_EMPTY

    def take(self, count: int) -> bytes:
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise NotAvro("it ends too early")
        found = self.data[self.at : end]
        self.at = end
        return found

    def long(self) -> int:
        data, at, value, shift = self.data, self.at, 0, 0
        try:
            while (byte := data[at]) > 0x7F:
                value |= (byte & 0x7F) << shift
                at, shift = at + 1, shift + 7
                if shift > _MOST_SHIFT:
                    raise NotAvro("a number is too long")
        except IndexError:
            raise NotAvro("it ends too early") from None
        self.at = at + 1
        value |= byte << shift
        return (value >> 1) ^ -(value & 1)

    def block(self) -> int:
        """How many items follow of a list that comes in blocks; 0: it is over."""
        count = self.long()
        if count < 0:
            self.long()  # the block's length, for those who pass over it
            count = -count
        self._items -= count
        if self._items < 0:
            raise NotAvro("it claims more items than it has bytes")
        return count


Read = Callable[[AvroCursor], Any]
Names = dict[str, Read]
"""What reads each type that a schema has named."""


def avro_reader(schema: Any, names: Names | None = None) -> Callable[[bytes], Any]:
    """What reads one record of a schema, given as JSON has it. `names` are of schemas that it refers to; its own are
    added to them. Raises `NotAvro` for a schema that is none."""
    try:
        read = _reader(schema, {} if names is None else names, "")
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise NotAvro(f"the schema is none: {error!r:.200}") from None

    def record(raw: bytes) -> Any:
        cursor = AvroCursor(raw)
        try:
            value = read(cursor)
        except RecursionError:
            raise NotAvro("it is nested too deeply") from None
        except (OverflowError, UnicodeDecodeError) as error:
            raise NotAvro(f"a value cannot be: {error!s:.100}") from None
        if cursor.at < len(raw):
            raise NotAvro(f"{len(raw) - cursor.at:,} bytes are left over: another schema wrote it")
        return value

    return record


def _reader(schema: Any, names: Names, space: str) -> Read:
    """`space` is the namespace around it."""
    if isinstance(schema, list):
        return partial(_union, [_reader(branch, names, space) for branch in schema])
    if isinstance(schema, str):
        return _PRIMITIVES.get(schema) or _named(schema, names, space)
    kind = schema["type"]
    if isinstance(kind, dict | list):
        return _reader(kind, names, space)
    read = _COMPLEX[kind](schema, names, space) if kind in _COMPLEX else _reader(kind, names, space)
    meant = _LOGICAL.get((schema.get("logicalType"), kind))
    return read if meant is None else _as_meant(read, meant(schema))


def _named(name: str, names: Names, space: str) -> Read:
    """A type may name itself, so it is looked up when it is read; that it is there is known now."""
    full = _full(name, space) if _full(name, space) in names else name
    if full not in names:
        raise NotAvro(f"the schema names the type {name!r:.100}, which is not defined")
    return lambda cursor: names[full](cursor)


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _record(schema: Mapping[str, Any], names: Names, space: str) -> Read:
    full = _full(schema["name"], schema.get("namespace", space))
    inside = full.rpartition(".")[0]
    names[full] = _nothing
    fields = [(field["name"], _reader(field["type"], names, inside)) for field in schema["fields"]]

    def read(cursor: AvroCursor) -> dict[str, Any]:
        return {name: of(cursor) for name, of in fields}

    names[full] = read
    return read


def _enum(schema: Mapping[str, Any], names: Names, space: str) -> Read:
    symbols = list(schema["symbols"])

    def read(cursor: AvroCursor) -> str:
        return str(_one_of(symbols, cursor))

    names[_full(schema["name"], schema.get("namespace", space))] = read
    return read


def _fixed(schema: Mapping[str, Any], names: Names, space: str) -> Read:
    size = int(schema["size"])

    def read(cursor: AvroCursor) -> bytes:
        return cursor.take(size)

    meant = _LOGICAL.get((schema.get("logicalType"), "fixed"))
    names[_full(schema["name"], schema.get("namespace", space))] = (
        read if meant is None else _as_meant(read, meant(schema))
    )
    return read


def _array(schema: Mapping[str, Any], names: Names, space: str) -> Read:
    item = _reader(schema["items"], names, space)

    def read(cursor: AvroCursor) -> list[Any]:
        found: list[Any] = []
        while count := cursor.block():
            found += [item(cursor) for _ in range(count)]
        return found

    return read


def _map(schema: Mapping[str, Any], names: Names, space: str) -> Read:
    value = _reader(schema["values"], names, space)

    def read(cursor: AvroCursor) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while count := cursor.block():
            for _ in range(count):
                key = _string(cursor)
                found[key] = value(cursor)
        return found

    return read


def _union(branches: Sequence[Read], cursor: AvroCursor) -> Any:
    read: Read = _one_of(branches, cursor)
    return read(cursor)


def _one_of(choices: Sequence[Any], cursor: AvroCursor) -> Any:
    number = cursor.long()
    if not 0 <= number < len(choices):
        raise NotAvro(f"it chooses {number} of {len(choices)}")
    return choices[number]


def _nothing(_: AvroCursor) -> None:
    return None


def _boolean(cursor: AvroCursor) -> bool:
    byte = cursor.take(1)[0]
    if byte > 1:
        raise NotAvro("a boolean is neither true nor false")
    return byte == 1


def _bytes(cursor: AvroCursor) -> bytes:
    return cursor.take(cursor.long())


def _string(cursor: AvroCursor) -> str:
    return cursor.take(cursor.long()).decode()


def _number(form: struct.Struct, cursor: AvroCursor) -> float:
    return float(form.unpack(cursor.take(form.size))[0])


_PRIMITIVES: dict[str, Read] = {
    "null": _nothing,
    "boolean": _boolean,
    "int": AvroCursor.long,
    "long": AvroCursor.long,
    "float": partial(_number, _FLOAT),
    "double": partial(_number, _DOUBLE),
    "bytes": _bytes,
    "string": _string,
}
_COMPLEX = {"record": _record, "error": _record, "enum": _enum, "fixed": _fixed, "array": _array, "map": _map}

Meant = Callable[[Any], Any]


def _as_meant(read: Read, meant: Meant) -> Read:
    return lambda cursor: meant(read(cursor))


def _decimal(schema: Mapping[str, Any]) -> Meant:
    scale = int(schema.get("scale", 0))
    return lambda raw: Decimal(f"{int.from_bytes(raw, signed=True)}E-{scale}")


def _date(_: Mapping[str, Any]) -> Meant:
    return lambda days: (date(1970, 1, 1) + timedelta(days=days)).isoformat()


def _time(unit: str, _: Mapping[str, Any]) -> Meant:
    def meant(value: int) -> str:
        if not 0 <= value < 86_400 * _PER_SECOND[unit]:
            raise NotAvro("a time is not within a day")
        return _after_epoch(value, unit).time().isoformat()

    return meant


def _instant(unit: str, zone: str, _: Mapping[str, Any]) -> Meant:
    return lambda value: _after_epoch(value, unit).isoformat() + zone


def _after_epoch(value: int, unit: str) -> datetime:
    return _EPOCH + timedelta(microseconds=value * (1_000_000 // _PER_SECOND[unit]))


_LOGICAL: dict[tuple[Any, str], Callable[[Mapping[str, Any]], Meant]] = {
    ("decimal", "bytes"): _decimal,
    ("decimal", "fixed"): _decimal,
    ("uuid", "fixed"): lambda _: lambda raw: str(UUID(bytes=raw)),
    ("date", "int"): _date,
    ("time-millis", "int"): partial(_time, "millis"),
    ("time-micros", "long"): partial(_time, "micros"),
    **{(f"timestamp-{unit}", "long"): partial(_instant, unit, "Z") for unit in _PER_SECOND},
    **{(f"local-timestamp-{unit}", "long"): partial(_instant, unit, "") for unit in _PER_SECOND},
}
"""What a value means, by the logical type and what carries it; others are as they are carried."""
