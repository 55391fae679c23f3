"""The attributes of a record, compiled or not: a native class has no slots that can be asked for."""

from typing import Any


def attributes_of(record: Any) -> list[str]:
    """Those of its classes from the outermost inwards, each once."""
    named = (name for kind in type(record).__mro__ for name in _named(kind))
    return list(dict.fromkeys(named))


def has_attributes(value: Any) -> bool:
    return not isinstance(value, tuple) and bool(attributes_of(value))


def _named(kind: type) -> tuple[str, ...]:
    own = vars(kind)
    return own.get("__mypyc_attrs__") or own.get("__slots__", ())
