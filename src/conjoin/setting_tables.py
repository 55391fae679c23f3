"""Tables inside the settings (`[inbox]`, `[inbox.targets.erp]`, `[notify."*"]`), declared by the part that uses them.

A table is a pydantic model, as the settings themselves are; types for its values are below. All problems are reported
at once, in the order in which the keys are written, each with the path of its key. A value is shown only where its
type cannot hold a secret.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails

from conjoin.errors import SettingsError
from conjoin.shown_urls import kind_of
from conjoin.times.durations import read_span_ms

AnyTable = TypeVar("AnyTable", bound="SettingTable")
NO_VARIABLES: Mapping[str, str] = {}
NONE = "none"
_LARGEST = 2**63 - 1
_LONGEST_NUMBER = 19


class SettingTable(BaseModel):
    """Every key has a default, and its type raises ValueError with a sentence. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    def contradictions(self) -> Iterable[tuple[str, str]]:
        """Values that do not go together: which key to change, and why."""
        return ()


def read_table(
    table: type[AnyTable],
    written: object,
    where: str = "",
    environment: Mapping[str, str] = NO_VARIABLES,
    spelled: Mapping[str, str] = NO_VARIABLES,
) -> AnyTable:
    """Raises `SettingsError` with all problems that `check_table` finds."""
    read, problems = check_table(table, written, where, environment, spelled)
    if problems:
        raise SettingsError(problems)
    return read


def check_table(
    table: type[AnyTable],
    written: object,
    where: str = "",
    environment: Mapping[str, str] = NO_VARIABLES,
    spelled: Mapping[str, str] = NO_VARIABLES,
) -> tuple[AnyTable, list[str]]:
    """The table, with defaults in place of what is wrong, and all problems.

    `environment` has the variables that a `SecretText` may name, `spelled` the keys that are written in another way
    than they are declared.
    """
    if not isinstance(written, Mapping):
        return table(), [f"{where}: {kind_of(written)} is not a table of settings"]
    problems: dict[str, str] = {}
    try:
        read = table.model_validate(written, context=environment)
    except ValidationError as error:
        problems = {str(detail["loc"][0]): _sentence(table, detail) for detail in error.errors(include_url=False)}
        right = {key: value for key, value in written.items() if key not in problems}
        read = table.model_validate(right, context=environment)
    problems = {**dict(read.contradictions()), **problems}
    keys = [*(key for key in written if key in problems), *(key for key in problems if key not in written)]
    places = {key: ".".join(filter(None, (where, spelled.get(key, key)))) for key in keys}
    return read, [f"{places[key]}: {problems[key]}" for key in keys]


def _sentence(table: type[SettingTable], detail: ErrorDetails) -> str:
    if detail["type"] == "extra_forbidden":
        return unknown_setting(str(detail["loc"][0]), table.model_fields)
    return str(detail["ctx"]["error"]) if "ctx" in detail else detail["msg"]


def unknown_setting(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, [*known], n=1)
    return "there is no such setting" + (f"; did you mean {near[0]!r}?" if near else "")


class Secret(str):
    """A text that `repr` does not show."""

    __slots__ = ()
    HIDDEN = "***"

    def __repr__(self) -> str:
        return repr(self.HIDDEN if self else "")


def _secret(value: object, info: ValidationInfo) -> Secret:
    text = _text(value)
    if not text.startswith("$"):
        return Secret(text)
    variable = text.removeprefix("$")
    found = (info.context or NO_VARIABLES).get(variable)
    if not found:
        raise ValueError(f"there is no variable {variable} in the environment")
    return Secret(found)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("is not a text")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("is neither true nor false")
    return value


def _names(value: object) -> frozenset[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ValueError("is not a list of names")
    return frozenset(value)


Text = Annotated[str, PlainValidator(_text)]
SecretText = Annotated[Secret, PlainValidator(_secret)]
"""As it is written, or the variable of the environment that `$NAME` names."""
Flag = Annotated[bool, PlainValidator(_flag)]
Names = Annotated[frozenset[str], PlainValidator(_names)]


def one_of(*choices: str) -> PlainValidator:
    def read(value: object) -> str:
        if value not in choices:
            raise ValueError(f"{value!r:.80} is none of {', '.join(choices)}")
        return str(value)

    return PlainValidator(read)


def duration_ms(least: int = 0, most: int = _LARGEST, or_none: bool = False) -> PlainValidator:
    """`or_none` lets the word `none` stand for no duration at all."""

    def read(value: object) -> int | None:
        if or_none and (value is None or value == NONE):
            return None
        span = read_span_ms(value)
        if span is None or span > most:
            limit = f", {most // 1_000:,} s at most" if most < _LARGEST else f", nor {NONE!r}" if or_none else ""
            raise ValueError(f"{value!r:.80} is not a duration such as 30s or PT30S{limit}")
        if span < least:
            raise ValueError("must be longer than nothing")
        return span

    return PlainValidator(read)


def whole_number(least: int) -> PlainValidator:
    def read(value: object) -> int:
        number: Any = value
        if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and value.strip().removeprefix("-").isdecimal():
            number = int(value)
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= _LARGEST:
            raise ValueError(f"{value!r:.60} is not a whole number of at least {least}")
        return number

    return PlainValidator(read)
