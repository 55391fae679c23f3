"""The settings of a target: a table `[inbox.targets.NAME]` becomes a `RemoteTarget`."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import PlainValidator

from conjoin import setting_tables as types
from conjoin.errors import SettingsError
from conjoin.runtime.targets.calls import HttpLimits, TargetDialect
from conjoin.runtime.targets.camunda7 import Camunda7
from conjoin.runtime.targets.camunda8 import DAY_MS, OPERATIONS, PUBLISH, Camunda8
from conjoin.runtime.targets.credentials import Credentials, OAuth
from conjoin.runtime.targets.http import HttpCarrier, HttpTls, RemoteTarget, read_address
from conjoin.setting_tables import SettingTable, read_table

_CALL_TIMEOUT = types.duration_ms(least=1, most=3_600_000)
_LIMITS = HttpLimits()


def _address(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("is not a text")
    read_address(value)
    return value


class TargetTable(SettingTable):
    """What every kind has."""

    kind: Annotated[str, types.one_of("camunda7", "camunda8")] = ""
    url: Annotated[str, PlainValidator(_address)] = ""
    user: types.Text = ""
    password: types.SecretText = types.Secret()
    token: types.SecretText = types.Secret()
    token_url: types.Text = ""
    client_id: types.Text = ""
    client_secret: types.SecretText = types.Secret()
    audience: types.Text = ""
    scope: types.Text = ""
    ca_file: types.Text = ""
    certificate: types.Text = ""
    certificate_key: types.Text = ""
    use_proxy: types.Flag = False
    connect_timeout: Annotated[int, _CALL_TIMEOUT] = _LIMITS.connect_timeout_ms
    answer_timeout: Annotated[int, _CALL_TIMEOUT] = _LIMITS.answer_timeout_ms
    calls_in_flight: Annotated[int, types.whole_number(1)] = _LIMITS.calls_in_flight

    @property
    def uses_oauth(self) -> bool:
        return any((self.token_url, self.client_id, self.client_secret, self.audience, self.scope))

    def credentials(self) -> Credentials | OAuth:
        if self.uses_oauth:
            return OAuth(self.token_url, self.client_id, self.client_secret, self.audience, self.scope)
        return Credentials(self.user, self.password, self.token)

    def tls(self) -> HttpTls:
        return HttpTls(self.ca_file, self.certificate, self.certificate_key)

    def contradictions(self) -> Iterator[tuple[str, str]]:
        credentials = Credentials(self.user, self.password, self.token)
        problem = credentials.problem()
        if problem is not None:
            yield problem
        if self.uses_oauth:
            yield from self._wrong_oauth(has_others=credentials != Credentials())
        if self.certificate_key and not self.certificate:
            yield "certificate_key", "there is no certificate"
        for key, alone in (("ca_file", HttpTls(self.ca_file)), ("certificate", HttpTls("", *self.tls()[1:]))):
            try:
                if any(alone):
                    alone.context()
            except OSError as error:
                yield key, f"cannot be used: {error.strerror or error}"

    def _wrong_oauth(self, has_others: bool) -> Iterator[tuple[str, str]]:
        for key in ("client_id", "client_secret"):
            if not getattr(self, key):
                yield key, "is missing; a token is asked for with client_id and client_secret"
        if has_others:
            yield "token_url", "there is also a user or a token; only one of both can be sent"
        else:
            try:
                read_address(self.token_url)
            except ValueError as error:
                yield "token_url", str(error)


class Camunda7Table(TargetTable):
    signals: types.Names = frozenset()
    local_keys: types.Names = frozenset()

    @property
    def dialect(self) -> TargetDialect:
        return Camunda7(self.signals, self.local_keys)


class Camunda8Table(TargetTable):
    operation: Annotated[str, types.one_of(*OPERATIONS)] = PUBLISH
    time_to_live: Annotated[int, types.duration_ms(least=1, most=3_650 * DAY_MS)] = DAY_MS

    @property
    def dialect(self) -> TargetDialect:
        return Camunda8(self.operation, self.time_to_live)


KINDS: dict[str, type[TargetTable]] = {"camunda7": Camunda7Table, "camunda8": Camunda8Table}


def read_target(name: str, written: object, environment: Mapping[str, str]) -> RemoteTarget:
    """Raises `SettingsError` with everything that is wrong with the table."""
    where = f"targets.{name}"
    given = {"kind": "", "url": "", **written} if isinstance(written, Mapping) else {}
    table = read_table(KINDS.get(str(given.get("kind")), TargetTable), given or written, where, environment)
    assert isinstance(table, Camunda7Table | Camunda8Table), "any other kind is a problem of the table"
    limits = HttpLimits(table.connect_timeout, table.answer_timeout, table.calls_in_flight)
    try:
        carrier = HttpCarrier(table.url, table.credentials(), limits, table.tls(), table.use_proxy)
    except ValueError as error:
        raise SettingsError([f"{where}.use_proxy: {error}"]) from None
    return RemoteTarget(table.dialect, carrier)
