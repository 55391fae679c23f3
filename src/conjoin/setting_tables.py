"""Tables inside the settings (`[inbox]`, `[inbox.targets.erp]`, `[notify."*"]`), declared by the part that uses them.

A table is a pydantic model, as the settings themselves are; types for its values are below. All problems are reported
at once, in the order in which the keys are written, each with the path of its key. A value is shown only where its
type cannot hold a secret.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
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
_SENTENCES = {"missing": "is missing", "model_type": "is not a table of settings", "dict_type": "is not a table"}


class SettingTable(BaseModel):
    """Its types raise ValueError with a sentence, and only a table inside another may have keys without a default.
    Unknown keys are refused."""

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
    above: dict[str, Any] = {}
    """The key here of a path into a table inside this one."""
    try:
        read = table.model_validate(written, context=environment)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            path = ".".join(map(str, detail["loc"]))
            problems[path], above[path] = _sentence(table, detail), detail["loc"][0]
        right = {key: value for key, value in written.items() if key not in above.values()}
        read = table.model_validate(right, context=environment)
    problems = {**dict(read.contradictions()), **problems}
    order = list(written)
    keys = sorted(problems, key=lambda key: order.index(top) if (top := above.get(key, key)) in order else len(order))
    paths = {key: ".".join(filter(None, (where, spelled.get(key, key)))) for key in keys}
    return read, [f"{paths[key]}: {problems[key]}" for key in keys]


def _sentence(table: type[SettingTable], detail: ErrorDetails) -> str:
    if detail["type"] == "extra_forbidden":
        # Those of a table inside this one are not known here.
        return unknown_setting(str(detail["loc"][-1]), table.model_fields if len(detail["loc"]) == 1 else ())
    if detail["type"] in _SENTENCES:
        return _SENTENCES[detail["type"]]
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


def secret_of(value: object, info: ValidationInfo) -> Secret:
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


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ValueError("is not a list of names")
    return tuple(value)


Text = Annotated[str, PlainValidator(_text)]
SecretText = Annotated[Secret, PlainValidator(secret_of)]
"""As it is written, or the variable of the environment that `$NAME` names."""
Flag = Annotated[bool, PlainValidator(_flag)]
Names = Annotated[frozenset[str], PlainValidator(lambda value: frozenset(_names(value)))]
NamePatterns = Annotated[tuple[str, ...], PlainValidator(_names)]
File = Annotated[Path, PlainValidator(lambda value: Path(_text(value)))]


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
