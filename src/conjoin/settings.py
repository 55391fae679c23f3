"""What a user can set, and where from: flag over environment over file over default.

The file is `conjoin.toml` or `conjoin.yaml` in the current directory, or the one that CONJOIN_CONFIG names; the
variable of a key is CONJOIN_<KEY>. All problems are reported at once, each with the place its value came from.
"""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pydantic_settings
from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

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
_TABLES = ("inbox", "notify", "server", "security")
_KEPT = r"^(forever|never|0|[0-9]+(ms|s|m|h|d))$"
"""How long something is kept: `0` is no longer than it is needed, `never` (removed) the same as `forever`."""


class Settings(BaseSettings):
    """One value for each key. Made by `load`, which turns what is wrong into a SettingsError."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, validate_default=False
    )

    profile: Literal["zeebe", "zeebe-0.2x", "correlate", "fleans"] = Field(
        "zeebe", description="which engine's rules hold where no policy says otherwise"
    )
    master: str = Field("local[*]", min_length=1, description="the Spark master to run on")
    format: Literal["parquet", "jsonl", "csv"] = Field("parquet", description="how outputs are written")
    partitions: int | None = Field(None, ge=1, description="shuffle partitions; Spark's own choice if not set")
    driver_memory: str = Field("2g", pattern=r"^[1-9][0-9]*[kmgtKMGT]$", description="memory of the Spark driver")
    jars: str | None = Field(None, description="further jars for Spark, with commas between them: Kafka's connector")
    data: str = Field("conjoin-data", min_length=1, description="the data directory of a store on this machine")
    store: str | None = Field(
        None, pattern=r"^postgres(ql)?://", description="the URL of a PostgreSQL store; it counts before data"
    )
    message_retention: str = Field("7d", pattern=_KEPT, description="how long messages that are over are kept")
    instance_retention: str = Field("30d", pattern=_KEPT, description="how long instances that ended are kept")
    log_retention: str = Field("forever", pattern=_KEPT, description="how long the blocks of the log are kept")
    policies: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description='policy overrides by message name, "*" for all messages'
    )
    inbox: dict[str, Any] | None = Field(
        None, description="the inbox: its schedule, channels and targets, also if it is empty; read by the runtime"
    )
    notify: dict[str, Any] = Field(
        default_factory=dict, description="who is told of what, by message name; read by the runtime"
    )
    server: dict[str, Any] = Field(default_factory=dict, description="where traces go; read by the gateway")
    security: dict[str, Any] = Field(
        default_factory=dict, description="TLS, who may call and do what, the audit; read by the gateway"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file_settings = pydantic_settings.InitSettingsSource(settings_cls, _read_file())
        return init_settings, env_settings, file_settings


_PLAIN = frozenset(name for name, field in Settings.model_fields.items() if "dict" not in str(field.annotation))
"""The keys that hold no table."""


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


def place_of(key: str) -> str:
    """Where the value of a key that no flag sets came from, for whoever finds a problem in it later."""
    return _place(key, {})


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
    # Imported here, so that whoever has no such file does not wait for it.
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
    key, *inside = (str(part) for part in detail["loc"])
    place = _place(key, flags)
    if detail["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, Settings.model_fields, n=1)
        return f"{place}: unknown key {key!r}" + (f"; did you mean {near[0]!r}?" if near else "")
    where = ".".join([key, *inside])
    return f"{place}: {where} = {_shown(key, detail['input'])}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


def _shown(key: str, value: Any) -> str:
    """Tables may hold passwords and tokens, and so may URLs."""
    if key in _TABLES or isinstance(value, (dict, list)):
        return kind_of(value)
    return repr(shown_url(value)) if isinstance(value, str) and ("://" in value or "@" in value) else repr(value)


def _place(key: str, flags: Mapping[str, Any]) -> str:
    """Where the value in force came from: asked in the order of precedence."""
    if key in flags:
        return f"flag --{key.replace('_', '-')}"
    variable = f"{ENV_PREFIX}{key.upper()}"
    if os.environ.get(variable):
        return f"environment {variable}"
    return str(_path() or DEFAULT_FILE)
