"""Reading a target: a table of a configuration file becomes a `RemoteTarget`.

Every problem is told at once, each with the name of its setting and never with the value of a secret. A password or a
token that begins with `$` is the name of a variable of the environment.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from conjoin.errors import SettingsError
from conjoin.kernel.inbox.configuration.durations import read_span_ms
from conjoin.runtime.targets.calls import TargetDialect
from conjoin.runtime.targets.camunda7 import Camunda7
from conjoin.runtime.targets.camunda8 import DAY_MS, OPERATIONS, PUBLISH, Camunda8
from conjoin.runtime.targets.connections import read_address
from conjoin.runtime.targets.credentials import Credentials
from conjoin.runtime.targets.http import HttpCarrier, HttpLimits
from conjoin.runtime.targets.remote import RemoteTarget

CAMUNDA_7, CAMUNDA_8 = "camunda7", "camunda8"
KINDS: dict[str, tuple[str, ...]] = {CAMUNDA_7: ("signals", "local_keys"), CAMUNDA_8: ("operation", "time_to_live")}
"""Each kind with the settings that only it has."""
SHARED = ("kind", "url", "user", "password", "token", "connect_timeout", "answer_timeout", "calls_in_flight")

_VARIABLE = "$"
_LONGEST_CALL_MS, _LONGEST_LIFE_MS = 3_600_000, 3_650 * DAY_MS


def read_target(name: str, written: Mapping[str, object], environment: Mapping[str, str]) -> RemoteTarget:
    """The target of a table. SettingsError: everything that is wrong with it."""
    table = _Table(f"targets.{name}", written)
    kind = table.choice("kind", tuple(KINDS), "")
    dialect = _read_dialect(kind, table)
    credentials = _read_credentials(table, environment)
    limits = _read_limits(table)
    url = table.text("url")
    try:
        read_address(url)
    except ValueError as error:
        table.problem("url", str(error))
    table.check_names((*SHARED, *KINDS.get(kind, ())))
    if table.problems:
        raise SettingsError(table.problems)
    return RemoteTarget(dialect, HttpCarrier(url, credentials, limits))


class _Table:
    """Reads one value after the other and keeps what is wrong with them."""

    def __init__(self, where: str, written: Mapping[str, object]) -> None:
        self._where, self._written = where, written
        self.problems: list[str] = []

    def problem(self, setting: str, text: str) -> None:
        self.problems.append(f"{self._where}.{setting}: {text}")

    def text(self, setting: str, otherwise: str = "") -> str:
        value = self._written.get(setting, otherwise)
        if isinstance(value, str):
            return value
        self.problem(setting, "is not a text")
        return otherwise

    def choice(self, setting: str, choices: tuple[str, ...], otherwise: str) -> str:
        value = self.text(setting, otherwise)
        if value not in choices:
            self.problem(setting, f"{value!r} is none of {', '.join(choices)}")
        return value

    def duration_ms(self, setting: str, otherwise: int, most: int) -> int:
        value = self._written.get(setting, otherwise)
        span = read_span_ms(value)
        if span is None or not 0 < span <= most:
            longest = f"{most // 1_000:,} s at most"
            self.problem(setting, f"{value!r:.80} is not a duration such as 30s or PT30S, {longest}")
        return span or otherwise

    def number(self, setting: str, otherwise: int) -> int:
        value: Any = self._written.get(setting, otherwise)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.problem(setting, f"{value!r:.80} is not a whole number of at least 1")
            return otherwise
        return value

    def names(self, setting: str) -> frozenset[str]:
        value = self._written.get(setting, ())
        if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
            return frozenset(value)
        self.problem(setting, "is not a list of names")
        return frozenset()

    def check_names(self, known: tuple[str, ...]) -> None:
        for setting in self._written:
            if setting not in known:
                near = get_close_matches(setting, known, n=1)
                self.problem(setting, "there is no such setting" + (f"; did you mean {near[0]!r}?" if near else ""))


def _read_dialect(kind: str, table: _Table) -> TargetDialect:
    if kind == CAMUNDA_8:
        operation = table.choice("operation", OPERATIONS, PUBLISH)
        return Camunda8(operation, table.duration_ms("time_to_live", DAY_MS, _LONGEST_LIFE_MS))
    return Camunda7(table.names("signals"), table.names("local_keys"))


def _read_limits(table: _Table) -> HttpLimits:
    usual = HttpLimits()
    return HttpLimits(
        table.duration_ms("connect_timeout", usual.connect_timeout_ms, _LONGEST_CALL_MS),
        table.duration_ms("answer_timeout", usual.answer_timeout_ms, _LONGEST_CALL_MS),
        table.number("calls_in_flight", usual.calls_in_flight),
    )


def _read_credentials(table: _Table, environment: Mapping[str, str]) -> Credentials:
    password, token = (_secret(table, setting, environment) for setting in ("password", "token"))
    credentials = Credentials(table.text("user"), password, token)
    problem = credentials.problem()
    if problem is not None:
        table.problem(*problem)
    return credentials


def _secret(table: _Table, setting: str, environment: Mapping[str, str]) -> str:
    written = table.text(setting)
    if not written.startswith(_VARIABLE):
        return written
    variable = written.removeprefix(_VARIABLE)
    if not environment.get(variable):
        table.problem(setting, f"there is no variable {variable} in the environment")
    return environment.get(variable, "")
