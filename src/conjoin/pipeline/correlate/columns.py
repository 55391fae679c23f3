"""Columns: what the tables of `correlate` may hold, and how each input type becomes the one the fold reads.

A column of an impossible type, or a required one that is missing, is found here from the schema alone, before any
job runs. A single value that cannot be read makes its row a dead letter; it never fails a task. Expressions are SQL
text: every column built by a call is a dozen round trips to Spark.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_KEY_CHARACTERS = 32_768
UNREADABLE = "unreadable"


class ColumnType(Protocol):
    """A type of Spark, or what stands for one where Spark is not loaded."""

    def simpleString(self) -> str: ...  # noqa: N802 - as Spark calls it


Types = dict[str, ColumnType]
"""The columns of a table. Asked for once: Spark analyses the whole plan for it."""


@dataclass(frozen=True, slots=True)
class Contract:
    """One column of an input table: how it is read, and whether a null or missing one is a fault."""

    name: str
    read: str
    fault: str | None = None


TABLES: dict[str, tuple[Contract, ...]] = {
    "messages": (
        Contract("name", "text", "missing_name"),
        Contract("correlation_key", "text"),
        Contract("published_at", "instant", "missing_time"),
        Contract("message_id", "text"),
        Contract("ttl_ms", "long"),
        Contract("variables", "json"),
        Contract("tenant_id", "text"),
        Contract("business_id", "text"),
        Contract("position", "long"),
        Contract("taken_by", "texts"),
    ),
    "subscriptions": (
        Contract("process_id", "text", "missing_name"),
        Contract("name", "text", "missing_name"),
        Contract("correlation_key", "text"),
        Contract("opened_at", "instant", "missing_time"),
        Contract("closed_at", "instant"),
        Contract("subscription_id", "text"),
        Contract("instance_id", "text"),
        Contract("element_id", "text"),
        Contract("interrupting", "truth"),
        Contract("tenant_id", "text"),
        Contract("business_id", "text"),
        Contract("kept_at", "instant"),
    ),
    "starts": (
        Contract("process_id", "checked_text", "missing_name"),
        Contract("name", "checked_text", "missing_name"),
        Contract("tenant_id", "checked_text"),
        Contract("element_id", "checked_text"),
        Contract("from_at", "instant"),
        Contract("until_at", "instant"),
    ),
    "ends": (
        Contract("process_id", "text", "missing_name"),
        Contract("correlation_key", "text"),
        Contract("ended_at", "instant", "missing_time"),
        Contract("tenant_id", "text"),
    ),
    "locks": (
        Contract("process_id", "text", "missing_name"),
        Contract("correlation_key", "text"),
        Contract("instance_id", "text"),
        Contract("locked_at", "instant"),
        Contract("tenant_id", "text"),
        Contract("position", "long"),
    ),
    "ids": (
        Contract("name", "text", "missing_name"),
        Contract("correlation_key", "text"),
        Contract("message_id", "text", "missing_name"),
        Contract("published_at", "instant"),
        Contract("until_at", "instant", "missing_time"),
        Contract("tenant_id", "text"),
        Contract("position", "long"),
    ),
}

TIMES = {"messages": ("published_at",), "subscriptions": ("opened_at", "closed_at"), "ends": ("ended_at",)}
"""The columns that the latest time of the tables is found in."""

_BAD = {
    "text": UNREADABLE,
    "checked_text": UNREADABLE,
    "json": UNREADABLE,
    "instant": "bad_time",
    "long": "bad_type",
    "truth": "bad_type",
    "texts": "bad_type",
}
# Raw in SQL as well: how it reads a backslash otherwise depends on a setting.
_HAS_DATE = r"r'^[+-]?\d{4}'"
_HAS_ZONE = r"r'(Z|:.*[+-]\d{2}(:?\d{2})?)$'"
_BLANK = r"r'(?U)^\s*$'"

PRIOR = (
    Contract("verdict", "text"),
    Contract("reason", "text"),
    Contract("detail", "text"),
    Contract("decided_at", "instant"),
    Contract("correlated_to", "texts"),
    Contract("kept_at", "instant"),
)
"""What `.buffered` adds to a message, so that the next run goes on from it."""


@dataclass(frozen=True, slots=True)
class Read:
    """A column as the fold reads it, null where it cannot be read: `present` is true where there is something."""

    value: str
    present: str | None
    exact: bool
    """The input column is of the type that is read: nothing is lost by carrying only the one."""


def types_of(frame: "DataFrame") -> Types:
    return {field.name: field.dataType for field in frame.schema.fields}


def problems_of(table: str, columns: list[str], types: Types) -> list[str]:
    """Every column that is missing or of an impossible type, one sentence each."""
    found = _twice(table, columns)
    prior = PRIOR if table == "messages" and has_prior(types) else ()
    for contract in (*TABLES[table], *prior):
        if contract.name not in types:
            if contract.fault:
                found.append(f"{table}: column {contract.name} is missing; it has {', '.join(types) or 'none'}")
        elif reader_of(contract.read, types[contract.name]) is None:
            wanted = _WANTED[contract.read]
            found.append(
                f"{table}: column {contract.name} is {types[contract.name].simpleString()}; it must be {wanted}"
            )
    return found


def _twice(table: str, names: list[str]) -> list[str]:
    """Spark does not tell upper from lower case: of two such columns it could find neither."""
    first: dict[str, str] = {}
    found = []
    for name in names:
        if name.lower() in first:
            found.append(f"{table}: columns {first[name.lower()]} and {name} are the same to Spark; rename one")
        first[name.lower()] = name
    return found


def quoted(name: str) -> str:
    """A column's name as Spark reads it, whatever characters are in it."""
    return "`" + name.replace("`", "``") + "`"


def has_prior(messages: Types) -> bool:
    """Do the messages bring verdicts of an earlier run along?"""
    return all(contract.name in messages for contract in PRIOR)


_WANTED = {
    "text": "a string (an integer is written as its text)",
    "checked_text": "a string (an integer is written as its text)",
    "instant": "a timestamp (UTC), or a string such as 2026-01-31T08:00:00Z",
    "long": "a whole number",
    "truth": "a boolean",
    "json": "a string holding a JSON object, or a struct or map",
    "texts": "an array of strings",
}


def read_column(contract: Contract, types: Types) -> Read:
    """The column as the fold reads it, null where the table does not have it."""
    if contract.name not in types:
        return Read(f"cast(null as {_SPARK[contract.read]})", None, exact=False)
    reader = reader_of(contract.read, types[contract.name])
    assert reader is not None, "problems_of comes first"
    return reader(quoted(contract.name))


_SPARK = {
    "text": "string",
    "checked_text": "string",
    "instant": "bigint",
    "long": "bigint",
    "truth": "boolean",
    "json": "string",
    "texts": "string",
}

Reader = Callable[[str], Read]


_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FRACTIONS = ("float", "double")


def reader_of(read: str, kind: ColumnType) -> Reader | None:
    """How a Spark type is read, or None when it cannot be."""
    name = kind.simpleString()
    if name == "void":
        return lambda c: Read(f"cast(null as {_SPARK[read]})", None, exact=False)
    return _READERS[read](name)


def is_text(kind: str) -> bool:
    """A string, of any collation."""
    return kind == "string" or kind.startswith("string collate")


def _as_it_is(column: str) -> Read:
    """Spark lets any bytes pass as a string; the fold looks at them, at less cost."""
    return Read(column, None, exact=True)


def _text(kind: str) -> Reader | None:
    if is_text(kind):
        return _as_it_is
    if kind in _WHOLE or (kind.startswith("decimal(") and kind.endswith(",0)")):
        return lambda c: Read(f"cast({c} as string)", None, exact=False)
    return None


def _checked_text(kind: str) -> Reader | None:
    """For what does not go through the fold."""
    if is_text(kind):
        return lambda c: Read(f"try_validate_utf8({c})", f"{c} is not null", exact=True)
    return _text(kind)


def _instant(kind: str) -> Reader | None:
    if kind == "timestamp":
        return lambda c: Read(f"unix_micros({c})", None, exact=True)
    if kind in ("timestamp_ntz", "date"):
        return lambda c: Read(f"unix_micros({_utc_of(f'cast({c} as string)')})", None, exact=False)
    if is_text(kind):
        return _instant_of_text
    return None


def _instant_of_text(column: str) -> Read:
    # A time of day alone would be one of today, whenever that is. As nearly all are written, that is plain to see: a
    # regular expression costs as much as half of what reads them.
    text = f"trim({column})"
    usual = f"endswith({text}, 'Z') and substring({text}, 5, 1) = '-'"
    other = f"when {text} rlike {_HAS_DATE} then unix_micros({_utc_of(text)})"
    value = f"case when {usual} then unix_micros(try_to_timestamp({text})) {other} end"
    return _tried(column, value, f"{text} <> ''")


def _utc_of(text: str) -> str:
    """A text without a zone is UTC: tried first with one added, then as it is. Not so where a zone is plain to see, as
    one that Spark does not know costs it an exception, ten times the rest of the row."""
    tried = (f"concat({text}, 'Z')", f"concat({text}, 'T00:00:00Z')", text)
    one_of = f"coalesce({', '.join(f'try_to_timestamp({one})' for one in tried)})"
    return f"case when {text} rlike {_HAS_ZONE} then try_to_timestamp({text}) else {one_of} end"


def _long(kind: str) -> Reader | None:
    if kind == "bigint":
        return lambda c: Read(c, None, exact=True)
    if kind in _WHOLE:
        return lambda c: Read(f"cast({c} as bigint)", None, exact=False)
    if is_text(kind):
        return lambda c: _tried(c, f"try_cast(trim({c}) as bigint)", f"trim({c}) <> ''")
    if kind in _FRACTIONS or kind.startswith("decimal("):
        # A null in pandas makes a column of whole numbers a column of doubles.
        whole = "case when {0} = floor({0}) then try_cast({0} as bigint) end"
        return lambda c: _tried(c, whole.format(c), f"not isnan(cast({c} as double))")
    return None


def _truth(kind: str) -> Reader | None:
    if kind == "boolean":
        return lambda c: Read(c, None, exact=True)
    if is_text(kind):
        return lambda c: _tried(c, f"try_cast(trim({c}) as boolean)", f"trim({c}) <> ''")
    return None


def _json(kind: str) -> Reader | None:
    if is_text(kind):
        return _as_it_is
    if kind == "variant" or kind.startswith("struct<"):
        return lambda c: Read(f"to_json({c})", None, exact=False)
    if kind.startswith(("map<string,", "map<string collate")):
        return lambda c: Read(f"to_json({c})", None, exact=False)
    return None


def _texts(kind: str) -> Reader | None:
    """Travels as JSON text: an array makes Spark's way to Arrow several times as slow for the whole row."""
    if kind == "array<void>" or (kind.startswith("array<") and is_text(kind[6:-1])):
        # Nulls are left out where it is read: array_compact keeps Spark from compiling whatever it stands in.
        return lambda c: Read(f"to_json(cast({c} as array<string>))", None, exact=True)
    if is_text(kind):
        return _texts_of_text
    return None


def _texts_of_text(column: str) -> Read:
    text = f"case when trim({column}) <> '' then {column} end"
    value = f"to_json(array_compact(from_json({text}, 'array<string>')))"
    return _tried(column, value, f"trim({column}) <> ''")


def _tried(column: str, value: str, has_value: str) -> Read:
    return Read(value, f"({column} is not null and {has_value})", exact=False)


_READERS: dict[str, Callable[[str], Reader | None]] = {
    "text": _text,
    "checked_text": _checked_text,
    "instant": _instant,
    "long": _long,
    "truth": _truth,
    "json": _json,
    "texts": _texts,
}


def fault_of(contract: Contract, value: str, present: str | None, blank: bool) -> str | None:
    """`reason:column` where the row cannot be used because of this column. `blank`: look for blank names too."""
    conditions = []
    if present is not None:
        bad = "bad_ttl" if contract.name == "ttl_ms" else _BAD[contract.read]
        conditions.append((f"{present} and {value} is null", bad))
    if contract.fault:
        missing = f"{value} is null"
        if blank and contract.read in ("text", "checked_text"):
            missing += f" or {value} rlike {_BLANK}"
        conditions.append((missing, contract.fault))
    if contract.name in ("correlation_key", "name"):
        many = f"> {MOST_KEY_CHARACTERS}"
        conditions.append((f"octet_length({value}) {many} and length({value}) {many}", "too_large"))
    if not conditions:
        return None
    whens = (f"when {condition} then '{reason}:{contract.name}'" for condition, reason in conditions)
    return f"case {' '.join(whens)} end"
