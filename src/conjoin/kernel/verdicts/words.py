"""Words that sentences are made of: who, how long, what of the parameters is known. A missing one never hurts."""

from collections.abc import Mapping
from typing import Any

Parameters = Mapping[str, Any]

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def duration(ms: object) -> str:
    """1500 -> `1.5 s`; the largest unit that fits, one decimal at most."""
    if not isinstance(ms, int) or ms < 1_000:
        return f"{ms} ms"
    size, unit = next((size, unit) for size, unit in _UNITS if ms >= size)
    tenths = ms * 10 // size
    return f"{tenths // 10}.{tenths % 10} {unit}" if tenths % 10 else f"{tenths // 10} {unit}"


def who(given: Parameters) -> str:
    """`process order (instance i-7 at wait-for-money)`, as much of it as is given."""
    process, instance, element = given.get("process"), given.get("instance"), given.get("element")
    place = f"at {element}" if element else ""
    inside = " ".join(part for part in (f"instance {instance}" if instance else "", place) if part)
    if not process:
        return inside or "somebody"
    return f"process {process} ({inside})" if inside else f"process {process}"


def of(given: Parameters, name: str, text: str) -> str:
    """` text` with the parameter put in, or nothing when it is not given."""
    value = given.get(name)
    return "" if value is None or value == "" else text.format(value)


def listed(values: object) -> str:
    return ", ".join(str(value) for value in values) if isinstance(values, (list, tuple)) else str(values)
