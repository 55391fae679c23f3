"""Reading a target: a table of a configuration file becomes a `RemoteTarget`.

Every problem is told at once, each with the name of its setting and never with the value of a secret. A password or a
token that begins with `$` is the name of a variable of the environment.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from conjoin.errors import SettingsError
from conjoin.runtime.targets.address import read_address
from conjoin.runtime.targets.calls import HttpLimits, TargetDialect
from conjoin.runtime.targets.camunda7 import Camunda7
from conjoin.runtime.targets.camunda8 import DAY_MS, OPERATIONS, PUBLISH, Camunda8
from conjoin.runtime.targets.credentials import Credentials, read_secret
from conjoin.runtime.targets.http import HttpCarrier, HttpTls
from conjoin.runtime.targets.oauth import OAuth
from conjoin.runtime.targets.remote import RemoteTarget
from conjoin.times.durations import read_span_ms

CAMUNDA_7, CAMUNDA_8 = "camunda7", "camunda8"
KINDS: dict[str, tuple[str, ...]] = {CAMUNDA_7: ("signals", "local_keys"), CAMUNDA_8: ("operation", "time_to_live")}
"""Each kind with the settings that only it has."""
OAUTH = ("token_url", "client_id", "client_secret", "audience", "scope")
SHARED = (
    *("kind", "url", "user", "password", "token", *OAUTH, "ca_file", "certificate", "certificate_key", "use_proxy"),
    *("connect_timeout", "answer_timeout", "calls_in_flight"),
)

_LONGEST_CALL_MS, _LONGEST_LIFE_MS = 3_600_000, 3_650 * DAY_MS


def read_target(name: str, written: Mapping[str, object], environment: Mapping[str, str]) -> RemoteTarget:
    """The target of a table. SettingsError: everything that is wrong with it."""
    table = _Table(f"targets.{name}", written)
    kind = table.choice("kind", tuple(KINDS), "")
    dialect = _read_dialect(kind, table)
    credentials = _read_credentials(table, environment)
    limits = _read_limits(table)
    tls = _read_tls(table)
    use_proxy = table.flag("use_proxy")
    url = table.address("url")
    table.check_names((*SHARED, *KINDS.get(kind, ())))
    if table.problems:
        raise SettingsError(table.problems)
    try:
        return RemoteTarget(dialect, HttpCarrier(url, credentials, limits, tls, use_proxy))
    except ValueError as error:
        table.problem("use_proxy", str(error))
        raise SettingsError(table.problems) from None


class _Table:
    """Reads one value after the other and keeps what is wrong with them."""

    def __init__(self, where: str, written: Mapping[str, object]) -> None:
        self._where, self._written = where, written
        self.problems: list[str] = []

    def problem(self, setting: str, text: str) -> None:
        self.problems.append(f"{self._where}.{setting}: {text}")

    def has(self, setting: str) -> bool:
        return setting in self._written

    def text(self, setting: str, otherwise: str = "") -> str:
        value = self._written.get(setting, otherwise)
        if isinstance(value, str):
            return value
        self.problem(setting, "is not a text")
        return otherwise

    def address(self, setting: str) -> str:
        value = self.text(setting)
        try:
            read_address(value)
        except ValueError as error:
            self.problem(setting, str(error))
        return value

    def flag(self, setting: str) -> bool:
        value = self._written.get(setting, False)
        if not isinstance(value, bool):
            self.problem(setting, "is neither true nor false")
        return value is True

    def secret(self, setting: str, environment: Mapping[str, str]) -> str:
        try:
            return read_secret(self.text(setting), environment)
        except ValueError as error:
            self.problem(setting, str(error))
            return ""

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


def _read_credentials(table: _Table, environment: Mapping[str, str]) -> Credentials | OAuth:
    password, token = (table.secret(setting, environment) for setting in ("password", "token"))
    credentials = Credentials(table.text("user"), password, token)
    problem = credentials.problem()
    if problem is not None:
        table.problem(*problem)
    if not any(table.has(setting) for setting in OAUTH):
        return credentials
    if credentials != Credentials():
        table.problem("token_url", "there is also a user or a token; only one of both can be sent")
    secret = table.secret("client_secret", environment)
    for setting in ("client_id", "client_secret"):
        if not table.text(setting):
            table.problem(setting, "is missing; a token is asked for with client_id and client_secret")
    told = table.address("token_url"), table.text("client_id"), secret
    return OAuth(*told, table.text("audience"), table.text("scope"))


def _read_tls(table: _Table) -> HttpTls:
    tls = HttpTls(*(table.text(setting) for setting in ("ca_file", "certificate", "certificate_key")))
    if tls.key and not tls.certificate:
        table.problem("certificate_key", "there is no certificate")
    for setting, alone in (("ca_file", HttpTls(tls.ca_file)), ("certificate", HttpTls("", *tls[1:]))):
        try:
            if any(alone):
                alone.context()
        except OSError as error:
            table.problem(setting, f"cannot be used: {error.strerror or error}")
    return tls
