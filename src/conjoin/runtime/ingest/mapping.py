"""A mapping says which part of a row is which part of a message: a text, or a FEEL expression over the row.

    name: "= type"                a text that begins with = is an expression
    key: "= order.id"
    ttl: 1h                       anything else is meant as it is written
    only: "= type != null"        rows for which this is not true are ignored

All problems of a mapping are told at once, before any row is read. Without a mapping a row has the fields of a message.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conjoin.errors import InputError
from conjoin.feel import FeelSyntaxError, compile_expression
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
_CONDITION = "only"


@dataclass(frozen=True, slots=True)
class RowMapping:
    """`values` has what is said of each field; a field that is not in it has its default."""

    values: Mapping[str, Value]
    only: Value | None = None

    def wants(self, row: Row, now: int) -> bool:
        return self.only is None or self.only(row, now) is True

    def said(self, row: Row, now: int) -> dict[str, Any]:
        """What a row says, by field. What is None is not said."""
        return {field: value(row, now) for field, value in self.values.items()}


class _Plain(RowMapping):
    """Rows that have the fields of a message, in any spelling."""

    __slots__ = ()

    def said(self, row: Row, now: int) -> dict[str, Any]:
        said: dict[str, Any] = {}
        for spelling, value in row.items():
            field = SPELLINGS.get(spelling)
            if field is None or value is None:
                continue
            if field in said:
                return self._in_order(row)
            said[field] = value
        return said

    def _in_order(self, row: Row) -> dict[str, Any]:
        """A row in which a field is spelled twice."""
        said: dict[str, Any] = {}
        for spelling, field in SPELLINGS.items():
            value = row.get(spelling)
            if value is not None:
                said.setdefault(field, value)
        return said


PLAIN: RowMapping = _Plain({})


def load_mapping(path: Path) -> RowMapping:
    said = written_mapping(path)
    try:
        return read_mapping(said)
    except InputError as error:
        raise InputError([f"{path}: {problem}" for problem in error.problems]) from None


def written_mapping(path: Path) -> dict[str, Any]:
    """As it stands in the file, not looked at yet."""
    try:
        said = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise InputError([f"{path}: {error.strerror}"]) from None
    except yaml.YAMLError as error:
        raise InputError([f"{path}: is not YAML: {' '.join(str(error).split())}"]) from None
    if not isinstance(said, dict):
        raise InputError([f"{path}: a mapping is fields with texts, such as 'name: OrderPaid'"])
    return said


def read_mapping(said: Mapping[str, Any]) -> RowMapping:
    problems: list[str] = []
    values: dict[str, Value] = {}
    for spelling, text in said.items():
        field = SPELLINGS.get(spelling, spelling if spelling == _CONDITION else "")
        if not field:
            problems.append(unknown_field(str(spelling)))
        elif text is not None:
            _read_field(field, text, values, problems)
    if "name" not in values and not problems:
        problems.append("name: without it no row is a message; write a text, or an expression such as '= type'")
    if problems:
        raise InputError(problems)
    only = values.pop(_CONDITION, None)
    # The whole row is what a message carries, unless it is said what else.
    return RowMapping({"variables": _whole_row} | values, only)


def _whole_row(row: Row, now: int) -> Any:
    return dict(row)


def unknown_field(spelling: str) -> str:
    near = difflib.get_close_matches(spelling, [*SPELLINGS, _CONDITION], n=1)
    return f"{spelling}: there is no such field" + (f"; did you mean {near[0]}?" if near else "")


def _read_field(field: str, text: Any, values: dict[str, Value], problems: list[str]) -> None:
    if isinstance(text, str) and text.lstrip().startswith("="):
        try:
            values[field] = compile_expression(text.lstrip()[1:]).stored()
        except FeelSyntaxError as error:
            problems.append(f"{field}: {error}")
        return
    problem = _wrong(field, text)
    if problem:
        problems.append(f"{field}: {problem}")
    else:
        values[field] = lambda row, now: text


def _wrong(field: str, value: Any) -> str:
    if field == "variables":
        return "" if isinstance(value, dict) else "neither an object nor an expression"
    if field in (_CONDITION, "published_at"):
        return "not an expression: it begins with ="
    if field == "ttl":
        known = read_duration_ms(value) is not None
        return "" if known else f"{value!r} is no time such as 30s, 1h or PT1H"
    return "" if isinstance(value, str) else f"{value!r} is not a text"
