"""A mapping says which part of a row is which part of a message: a text, or a FEEL expression over the row.

    name: "= type"                a text that begins with = is an expression
    key: "= order.id"
    ttl: 1h                       anything else is meant as it is written
    only: "= type != null"        rows for which this is not true are ignored

    value: {format: avro, ...}    of values that are not JSON, see value_format.py
    tombstones: skip              or message; else a record of Kafka without a value is a dead letter

All problems of a mapping are reported at once, before any row is read. Without a mapping a row has the fields of a
message. The mapping of a channel of the inbox (`inbox/mapping.py`) has the same syntax, and other fields.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from conjoin.errors import InputError, SettingsError
from conjoin.feel import FeelSyntaxError, compile_expression
from conjoin.runtime.ingest.value_format import VALUE, ValueFormat, read_value_format
from conjoin.times.durations import read_duration_ms

Row = Mapping[str, Any]
Value = Callable[[Row, int], Any]
"""What a row says about a field, at an instant."""

SPELLINGS = {
    "name": "name",
    **dict.fromkeys(("key", "correlationKey", "correlation_key"), "key"),
    **dict.fromkeys(("id", "messageId", "message_id"), "id"),
    **dict.fromkeys(("ttl", "timeToLive", "ttl_ms"), "ttl"),
    "variables": "variables",
    **dict.fromkeys(("tenant", "tenantId", "tenant_id"), "tenant"),
    **dict.fromkeys(("businessId", "business_id"), "business_id"),
    **dict.fromkeys(("publishedAt", "published_at"), "published_at"),
}
"""Our names, those of Zeebe's API, and those of the columns of tables of messages; the first of a field counts."""
ONLY = "only"
TOMBSTONES = "tombstones"
_MARK = "="
_LONGEST_SHOWN = 100


class Tombstones(StrEnum):
    """What becomes of a record of Kafka that has no value. A message has only what is around it, as `kafka`."""

    DEAD_LETTER = "dead_letter"
    SKIP = "skip"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class RowMapping:
    """`values` has what reads each field; a field that is not in it has its default. `value` None: rows are JSON."""

    values: Mapping[str, Value]
    only: Value | None = None
    value: ValueFormat | None = None
    tombstones: Tombstones = Tombstones.DEAD_LETTER

    def wants(self, row: Row, now: int) -> bool:
        return self.only is None or self.only(row, now) is True

    def fields_of(self, row: Row, now: int) -> dict[str, Any]:
        """The values of a row by field; None is not given."""
        return {field: value(row, now) for field, value in self.values.items()}


class _Plain(RowMapping):
    """Rows that have the fields of a message, in any spelling."""

    __slots__ = ()

    def fields_of(self, row: Row, now: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for spelling, value in row.items():
            field = SPELLINGS.get(spelling)
            if field is None or value is None:
                continue
            if field in fields:
                # A field that is spelled twice: the first of the spellings counts.
                given = [(it, row[text]) for text, it in SPELLINGS.items() if row.get(text) is not None]
                return dict(reversed(given))
            fields[field] = value
        return fields


PLAIN: RowMapping = _Plain({})


def load_mapping(path: Path) -> RowMapping:
    written = written_mapping(path)
    try:
        return read_mapping(written)
    except InputError as error:
        raise InputError([f"{path}: {problem}" for problem in error.problems]) from None


def written_mapping(path: Path) -> dict[str, Any]:
    """As it stands in the file, not checked yet."""
    try:
        written = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise InputError([f"{path}: {error.strerror}"]) from None
    except yaml.YAMLError as error:
        raise InputError([f"{path}: is not YAML: {' '.join(str(error).split())}"]) from None
    if not isinstance(written, dict):
        raise InputError([f"{path}: a mapping is fields with texts, such as 'name: OrderPaid'"])
    return written


def read_mapping(written: Mapping[str, Any]) -> RowMapping:
    problems: list[str] = []
    values: dict[str, Value] = {}
    written = dict(written)
    value = _value_format(written.pop(VALUE, None), problems)
    tombstones = _tombstones(written.pop(TOMBSTONES, None), problems)
    for spelling, text in written.items():
        field = SPELLINGS.get(spelling, spelling if spelling == ONLY else "")
        if not field:
            problems.append(unknown_field(spelling))
        elif text is not None:
            values[field], problem = read_value(field, text, _problem_of)
            problems += [f"{field}: {problem}"] if problem else []
    if "name" not in values and not problems:
        problems.append("name: without it no row is a message; write a text, or an expression such as '= type'")
    if problems:
        raise InputError(problems)
    only = values.pop(ONLY, None)
    # By default a message carries the whole row.
    return RowMapping({"variables": lambda row, now: dict(row)} | values, only, value, tombstones)


def for_tasks(written: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping as it was written, with the contents of what it names here: files and variables of the environment.
    Raises `InputError` for one that will not do."""
    value = read_mapping(written).value
    return dict(written) if value is None else {**written, VALUE: value.written()}


def _value_format(written: object, problems: list[str]) -> ValueFormat | None:
    if written is None:
        return None
    try:
        return read_value_format(written)
    except SettingsError as error:
        problems += error.problems
        return None


def _tombstones(written: object, problems: list[str]) -> Tombstones:
    if written is None:
        return Tombstones.DEAD_LETTER
    if isinstance(written, str) and written in list(Tombstones):
        return Tombstones(written)
    problems.append(f"{TOMBSTONES}: {written!r:.60} is none of {', '.join(Tombstones)}")
    return Tombstones.DEAD_LETTER


def read_value(field: str, written: Any, problem_of: Callable[[str, Any], str]) -> tuple[Value, str]:
    """What reads the field of a row, and what is wrong with it. `problem_of` checks what is no expression."""
    if isinstance(written, str) and written.lstrip().startswith(_MARK):
        try:
            return compile_expression(written.lstrip().removeprefix(_MARK)).stored(), ""
        except FeelSyntaxError as error:
            problem = str(error)
    elif field == ONLY:
        problem = f"not an expression: it begins with {_MARK}"
    else:
        problem = problem_of(field, written)
    return (lambda row, now: written), problem


def unknown_field(
    spelling: object,
    known: Iterable[str] = (*SPELLINGS, ONLY, VALUE, TOMBSTONES),
    nowhere: str = "there is no such field",
) -> str:
    """A client's name may be megabytes long: it is neither repeated nor compared in full."""
    shown = str(spelling)
    if len(shown) > _LONGEST_SHOWN:
        return f"{shown[:_LONGEST_SHOWN]}...: {nowhere}"
    near = difflib.get_close_matches(shown, [*known], n=1)
    return f"{shown}: {nowhere}" + (f"; did you mean {near[0]}?" if near else "")


def _problem_of(field: str, value: Any) -> str:
    if field == "variables":
        return "" if isinstance(value, dict) else "neither an object nor an expression"
    if field == "published_at":
        return f"not an expression: it begins with {_MARK}"
    if field == "ttl":
        return "" if read_duration_ms(value) is not None else f"{value!r} is no time such as 30s, 1h or PT1H"
    return "" if isinstance(value, str) else f"{value!r} is not a text"
