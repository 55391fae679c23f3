"""What a user can set, and where: a flag counts before the environment, that before the file, that before the default.

Each setting is declared once, in `Settings`: its key in `conjoin.toml` (or `conjoin.yaml`, or the file that
CONJOIN_CONFIG names), its variable CONJOIN_<NAME> and its flag; what is inside its tables, by the parts that use them
(`setting_tables.py`). All problems are reported at once, each with the place its value came from; secrets are never
shown.
"""

import difflib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pydantic_settings
from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, EnvSettingsSource, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from conjoin.errors import SettingsError
from conjoin.shown_urls import kind_of, shown_url

ENV_PREFIX = "CONJOIN_"
CONFIG_VARIABLE = "CONJOIN_CONFIG"
DEFAULT_FILE = "conjoin.toml"
_FILES = (DEFAULT_FILE, "conjoin.yaml", "conjoin.yml")
_YAML = (".yaml", ".yml")
_INBOX_ALIAS = "correlate"
"""What the document on batch correlation calls the inbox, at the top of its file."""
_LARGEST = 2**63 - 1
"""TOML promises no more; of what is written in binary Python reads any number, but does not write it."""
_ENGINE = "engine"
"""The one key in the table of the inbox that is a setting of its own: it says where the inbox runs, not how."""
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit, which has chosen the master."""
_UNKNOWN = "unknown key "
"""Before a key of the file that is not declared, on its way through pydantic."""
_KEPT = r"^(forever|never|0|[0-9]+(ms|s|m|h|d))$"
"""How long something is kept: `0` is no longer than it is needed, `never` (removed) the same as `forever`."""
_HTTP = r"^https?://[^/]"


def _setting(default: Any, what: str, key: str = "", flag: str = "-", secret: bool = False, **checks: Any) -> Any:
    """`key` is its place in the file if that is not its name; `flag` is "" if it has none."""
    about: dict[str, Any] = {"key": key, "flag": flag, "secret": secret}
    given = {"default_factory": default} if callable(default) else {"default": default}
    return Field(description=what, json_schema_extra=about, repr=not secret, **given, **checks)


def _table(what: str, default: Any = dict) -> Any:
    """Its keys are declared by the part that uses it; it may hold secrets."""
    return _setting(default, what, flag="", secret=True)


def _limit(name: str, default: int, what: str) -> Any:
    return _setting(default, what, f"server.limits.{name}", ge=1)


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _split(value: Any) -> Any:
    """A variable has commas between names."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)) or not all(isinstance(it, str) for it in texts):
        return value
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


class Settings(BaseSettings):
    """One value for each setting. Made by `load`, which turns what is wrong into a SettingsError."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, validate_default=False
    )

    profile: Literal["zeebe", "zeebe-0.2x", "correlate", "fleans"] = _setting(
        "zeebe", "which engine's rules apply where no policy says otherwise"
    )
    policies: dict[str, dict[str, Any]] = _setting(
        dict, 'policy overrides by message name, "*" for all messages', flag="--policy"
    )
    data: str = _setting("conjoin-data", "the data directory of a store on this machine", min_length=1)
    store: str | None = _setting(
        None,
        "a store on PostgreSQL, postgresql://user@host/database; it counts before data",
        pattern=r"^postgres(ql)?://",
    )
    message_retention: str = _setting("7d", "how long messages that are over are kept", flag="", pattern=_KEPT)
    instance_retention: str = _setting("30d", "how long instances that ended are kept", flag="", pattern=_KEPT)
    log_retention: str = _setting("forever", "how long the blocks of the log are kept", flag="", pattern=_KEPT)
    inbox: dict[str, Any] | None = _table("the inbox: its schedule, channels and targets, also if it is empty", None)
    inbox_engine: Literal["spark", "inline"] | None = _setting(
        None, "who runs the schedule of the inbox; spark where a master is set, else inline", "inbox.engine", "--engine"
    )
    notify: dict[str, Any] = _table("who is notified of what, by message name")
    security: dict[str, Any] = _table("TLS, who may call and do what, the audit")

    server: str | None = _setting(None, "the server that commands work through", "server.url", pattern=_HTTP)
    token: str | None = _setting(None, "the token to call it with", "server.token", secret=True, min_length=1)
    user: str | None = _setting(
        None, "the name to call it with; without a password there is a prompt", "server.user", min_length=1
    )
    password: str | None = _setting(None, "the password to call it with", "server.password", flag="", secret=True)
    ca: str | None = _setting(None, "a file of certificates that vouch for it", "server.ca", min_length=1)

    host: str = _setting("127.0.0.1", "the address that serve listens on", "server.host", min_length=1)
    grpc_port: int = _setting(26500, "the port for gRPC; 0 is a free one", "server.grpc_port", ge=0, le=65_535)
    rest_port: int = _setting(
        8080, "the port for REST and the console; 0 is a free one", "server.rest_port", ge=0, le=65_535
    )
    insecure: bool = _setting(
        False, "serve other machines without TLS and callers: anybody there may do anything", "server.insecure"
    )
    read_only_console: bool = _setting(False, "a console that takes no forms", "server.read_only_console")
    allowed_hosts: Annotated[list[str], NoDecode, BeforeValidator(_split)] = _setting(
        list, "names that browsers and REST clients may call it by, beside its own", "server.hosts", "--allowed-host"
    )
    traces: str | None = _setting(
        None, "a collector of traces, such as http://127.0.0.1:4318/v1/traces", "server.traces", pattern=_HTTP
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = _setting(
        "warning", "what is logged to stderr: debug, info, warning or error", "server.log_level"
    )
    log_format: Annotated[Literal["text", "json"], BeforeValidator(_lower)] = _setting(
        "text", "how: text, or json for one object per line", "server.log_format"
    )
    limit_in_flight: int = _limit("in_flight", 2_000, "requests that wait for their commit")
    limit_bytes_in_flight: int = _limit(
        "bytes_in_flight", 256 * 1024 * 1024, "memory, about, of the requests that are being answered"
    )
    limit_line_bytes: int = _limit(
        "line_bytes", 128 * 1024 * 1024, "the same for bodies of lines, and for answers that nobody has read"
    )
    limit_waiting: int = _limit("waiting", 10_000, "long polls, streams, and creations that wait for their result")
    limit_bulks: int = _limit("bulks", 4, "bulk publishes; more of them take turns")
    limit_readers: int = _limit("readers", 4, "threads that search the store")
    limit_looks: int = _limit("looks", 1_000, "readings of the store that run or wait")
    limit_list_time_ms: int = _limit(
        "list_time_ms", 3_000, "a list that has not found enough by then answers with what it has"
    )
    limit_request_timeout_ms: int = _limit(
        "request_timeout_ms", 15_000, "for every request that has no timeout of its own"
    )
    limit_long_poll_ms: int = _limit("long_poll_ms", 10_000, "how long jobs are waited for, unless the request says")

    format: Literal["parquet", "jsonl", "csv", "delta"] = _setting("parquet", "how outputs are written")
    master: str = _setting("local[*]", "the Spark master to run on", min_length=1)
    driver_memory: str = _setting("2g", "memory of the Spark driver", pattern=r"^[1-9][0-9]*[kmgtKMGT]$")
    jars: str | None = _setting(None, "further jars for Spark, with commas between them: Kafka's connector")
    partitions: int | None = _setting(None, "shuffle partitions; Spark's own choice if not set", ge=1)

    @property
    def runs_inbox_on_spark(self) -> bool:
        """As it is set; else where a master is, or under spark-submit."""
        if self.inbox_engine is not None:
            return self.inbox_engine == "spark"
        return "master" in self.model_fields_set or _SUBMITTED in os.environ

    @property
    def limits(self) -> dict[str, int]:
        """Of the server, by the names of its `ServerLimits`."""
        return {name.removeprefix("limit_"): getattr(self, name) for name in SETTINGS if name.startswith("limit_")}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file_settings = pydantic_settings.InitSettingsSource(settings_cls, _flat(_read_file()))
        return init_settings, _Environment(settings_cls), file_settings


class Declared(NamedTuple):
    """Where a setting is set: its key in the file, its variable and its flag, which is empty if it has none."""

    key: str
    variable: str
    flag: str
    what: str
    default: Any
    is_secret: bool


def _declared(name: str) -> Declared:
    field = Settings.model_fields[name]
    about: Any = field.json_schema_extra
    flag = f"--{name.replace('_', '-')}" if about["flag"] == "-" else about["flag"]
    default = field.get_default(call_default_factory=True)
    where = (about["key"] or name, f"{ENV_PREFIX}{name.upper()}", flag)
    return Declared(*where, field.description or "", default, about["secret"])


SETTINGS: dict[str, Declared] = {name: _declared(name) for name in Settings.model_fields}
"""Every setting by its name."""
_BY_KEY = {declared.key: name for name, declared in SETTINGS.items()}
_TABLES = {"server", "server.limits"}
"""Of the file: what is in them is declared one by one."""
_PLAIN = {name for name in _BY_KEY if "." not in name and not SETTINGS[name].is_secret and name != "policies"}
"""The keys at the top of the file that hold no table."""


class _Environment(EnvSettingsSource):
    """Variables of their own, and CONJOIN_SERVER: a URL, or the whole table as JSON."""

    def __call__(self) -> dict[str, Any]:
        given = _with_engine_apart(super().__call__(), "inbox_engine")
        table = _server_table()
        return given if table is None else _flat({"server": table}) | {k: v for k, v in given.items() if k != "server"}


def _server_table() -> dict[str, Any] | None:
    variable = SETTINGS["server"].variable
    text = os.environ.get(variable, "")
    if not text.lstrip().startswith("{"):
        return None
    try:
        table: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise SettingsError([f"environment {variable}: is not JSON: {getattr(error, 'msg', error)}"]) from None
    return table


def _with_engine_apart(content: dict[str, Any], name: str) -> dict[str, Any]:
    """`name` is what the engine of the inbox is called beside its table."""
    table = content.get("inbox")
    if not isinstance(table, dict) or _ENGINE not in table:
        return content
    rest = {key: value for key, value in table.items() if key != _ENGINE}
    return {name: table[_ENGINE], **content, "inbox": rest}


def _flat(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a file holds by the names of the settings; a key that is not declared is marked as that."""
    content = _with_engine_apart(dict(content), "inbox.engine")
    return {_BY_KEY.get(key, f"{_UNKNOWN}{key}"): value for key, value in _leaves(content, "")}


def _leaves(content: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        key = f"{above}{name}"
        if key in _TABLES and isinstance(value, dict):
            yield from _leaves(value, f"{key}.")
        elif key == "server":
            yield "server.url", value
        elif not above or value is not None:
            yield key, value


def load(**flags: Any) -> Settings:
    """Settings in force here and now; a flag that is None was not given."""
    given = {key: value for key, value in flags.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        raise SettingsError([_problem(detail, given) for detail in error.errors()]) from None
    except pydantic_settings.SettingsError as error:
        # Raised for a table that is not JSON in a variable; its text names the field, its cause the reason.
        why = getattr(error.__cause__, "msg", None) or type(error.__cause__).__name__
        raise SettingsError([f"environment: {error}: {why}"]) from None
    except RecursionError:
        raise SettingsError(["environment: a table is nested too deeply"]) from None


def origin_of(key: str) -> str:
    """Where the value of a setting without a flag came from, for a problem that is found later."""
    return _origin(key, {})


def _path() -> Path | None:
    """The file to read; None if there is none, which is no problem unless one was named."""
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    return next((Path(name) for name in _FILES if Path(name).exists()), None)


def _read_file() -> dict[str, Any]:
    path = _path()
    if path is None:
        return {}
    found = [name for name in _FILES if Path(name).exists()]
    if len(found) > 1 and not os.environ.get(CONFIG_VARIABLE):
        raise SettingsError([f"there is {' and '.join(found)}: keep one, or name one with {CONFIG_VARIABLE}"])
    is_yaml = path.suffix.lower() in _YAML
    try:
        text = path.read_text(encoding="utf-8")
        return _with_inbox(_read_yaml(text) if is_yaml else _read_toml(text), path)
    except OSError as error:
        named = f" (named by {CONFIG_VARIABLE})" if os.environ.get(CONFIG_VARIABLE) else ""
        raise SettingsError([f"{path}: cannot be read: {error.strerror}{named}"]) from None
    except ValueError as error:
        raise SettingsError([f"{path}: is not {'YAML' if is_yaml else 'TOML'}: {error}"]) from None


def _read_toml(text: str) -> dict[str, Any]:
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    waiting: list[Any] = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (dict, list)):
            waiting.extend(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, int) and abs(value) > _LARGEST:
            raise ValueError("a number is larger than 64 bits hold")
    return content


def _read_yaml(text: str) -> dict[str, Any]:
    """What TOML would hold: nothing after the key of a table is an empty table, after another key it is not set."""
    # Imported here, so that only those who have such a file wait for it.
    from conjoin.plain_yaml import read_yaml

    content = read_yaml(text)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError("it is not an object of settings")
    given = {key: value for key, value in content.items() if value is not None or key not in _PLAIN}
    return {key: {} if value is None else value for key, value in given.items()}


def _with_inbox(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """The inbox may stand under the name of the document."""
    if _INBOX_ALIAS not in content:
        return content
    if "inbox" in content:
        raise SettingsError([f"{path}: inbox and {_INBOX_ALIAS} are the same: keep one"])
    return {"inbox" if key == _INBOX_ALIAS else key: value for key, value in content.items()}


def _problem(detail: ErrorDetails, flags: Mapping[str, Any]) -> str:
    name, *inside = (str(part) for part in detail["loc"])
    if name not in SETTINGS:
        key = name.removeprefix(_UNKNOWN)
        near = difflib.get_close_matches(key, _BY_KEY, n=1)
        return f"{_file()}: unknown key {key!r}" + (f"; did you mean {near[0]!r}?" if near else "")
    origin, where = _origin(name, flags), ".".join([SETTINGS[name].key, *inside])
    return f"{origin}: {where} = {_shown(name, detail['input'])}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


def _shown(name: str, value: Any) -> str:
    """Tables may hold passwords and tokens, and so may URLs."""
    if SETTINGS[name].is_secret or isinstance(value, (dict, list)) or (name == "server" and "://" not in str(value)):
        return kind_of(value)
    return repr(shown_url(value)) if isinstance(value, str) and ("://" in value or "@" in value) else repr(value)


def _origin(name: str, flags: Mapping[str, Any]) -> str:
    """Where the value in force came from: in the order of precedence."""
    if name in flags:
        return f"flag {SETTINGS[name].flag}"
    if os.environ.get(SETTINGS[name].variable):
        return f"environment {SETTINGS[name].variable}"
    if name in _flat({"server": _server_table() or {}}):
        return f"environment {SETTINGS['server'].variable}"
    if name == "inbox_engine" and f'"{_ENGINE}"' in os.environ.get(SETTINGS["inbox"].variable, ""):
        return f"environment {SETTINGS['inbox'].variable}"
    return _file()


def _file() -> str:
    return str(_path() or DEFAULT_FILE)
