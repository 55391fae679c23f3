"""The table `[inbox]` of the settings: the inbox's own settings, its channels with their filters, and its targets.

Settings may have our names, or those of the document on scheduled batch processing: nested (`correlate: batch: query:
pollInterval`) or dotted, with `correlate.` in front or not, and spelled as Spring Boot allows. All
problems are reported at once. Commands that make no calls read settings and channels alone, and need no secrets.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Annotated, Any, NamedTuple

from pydantic import PlainValidator, create_model

from conjoin.errors import SettingsError
from conjoin.feel import FeelSyntaxError, compile_expression
from conjoin.kernel.inbox import PRESETS, InboxSettings
from conjoin.kernel.inbox import settings as s
from conjoin.kernel.inbox.channels import EVERYTHING, And, Channel, Filter, Not, Or, Types
from conjoin.runtime.inbox.mapping import read_mapping
from conjoin.runtime.targets import RemoteTarget, read_target
from conjoin.setting_tables import SettingTable, Text, check_table, duration_ms, one_of, whole_number
from conjoin.shown_urls import kind_of

PRESET, CHANNELS, TARGETS = "preset", "channels", "targets"
NAMES = tuple(field.name for field in fields(InboxSettings))
EVERY_TYPE = "all"
_DEFAULT_PRESET = "conjoin"
_ROOT = "correlate"
_DEEPEST = 20
"""More nesting of filters than a real one has, and less than a stack holds."""
_TRUTHS = {"true": True, "false": False, "on": True, "off": False, "yes": True, "no": False}

ALIASES: dict[str, str] = {
    "batch.mode": "mode",
    "batch.query.pollInterval": "poll_interval",
    "batch.query.pollInitialDelay": "poll_initial_delay",
    "batch.cleanup.pollInterval": "cleanup_interval",
    "batch.cleanup.pollInitialDelay": "cleanup_initial_delay",
    "batch.cluster.enabled": "cluster",
    "batch.cluster.queuePollLockMostInterval": "lock_at_most",
    "persistence.messageBatchSize": "batch_size",
    "persistence.messageFetchPageSize": "page_size",
    "persistence.messageMaxRetries": "max_attempts",
    "retry.retryBackoffBase": "backoff_base",
    "retry.retryMaxBackoffMinutes": "backoff_cap",
    "message.timeToLiveAsString": "grace",
    "message.payloadEncoding": "encoding",
}
"""The document's names of the settings."""


class Configuration(NamedTuple):
    settings: InboxSettings
    channels: Mapping[str, Channel]
    targets: Mapping[str, RemoteTarget]


def read_configuration(section: Mapping[str, object], environment: Mapping[str, str]) -> Configuration:
    """Everything. Raises `SettingsError` with all that is wrong; secrets of targets may be in the environment."""
    problems: list[str] = []
    settings, channels = InboxSettings(), dict[str, Channel]()
    try:
        settings, channels = read_inbox(section)
    except SettingsError as error:
        problems += error.problems
    targets: dict[str, RemoteTarget] = {}
    written = section.get(TARGETS)
    for name, table in written.items() if isinstance(written, Mapping) else ():
        try:
            targets[name] = read_target(name, table, environment)
        except SettingsError as error:
            problems += [f"inbox: {problem}" for problem in error.problems]
    if problems:
        raise SettingsError(problems)
    return Configuration(settings, channels, targets)


def read_inbox(section: Mapping[str, object]) -> tuple[InboxSettings, dict[str, Channel]]:
    """The settings and the channels. Raises `SettingsError` with everything that is wrong."""
    given, problems = translate({name: value for name, value in section.items() if name != TARGETS})
    preset, written_channels = given.pop(PRESET, _DEFAULT_PRESET), given.pop(CHANNELS, None)
    settings, wrong_settings = read_settings(str(preset), given)
    channels, wrong_channels = read_channels(written_channels)
    problems += [*wrong_settings, *wrong_channels]
    targets = section.get(TARGETS, {})
    if not isinstance(targets, Mapping):
        problems.append(f"{TARGETS}: {kind_of(targets)} is not a table of targets")
    else:
        lost = [it for it in channels.values() if it.target and it.target not in targets]
        problems += [f"{CHANNELS}.{it.name}.target: there is no target {it.target!r}" for it in lost]
    if problems:
        raise SettingsError([f"inbox: {problem}" for problem in problems])
    return settings, channels


def relaxed(name: str) -> str:
    """A name as it is compared: capitals, `-` and `_` make no difference."""
    return name.lower().replace("-", "").replace("_", "")


_BY_RELAXED_NAME = {relaxed(alias): name for alias, name in ALIASES.items()}
_IN_MINUTES = relaxed("retry.retryMaxBackoffMinutes")


def translate(configuration: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    """Our names for everything that is set, and what is set twice. What has no other name keeps its own."""
    settings: dict[str, object] = {}
    written_as: dict[str, str] = {}
    problems: list[str] = []
    for path, value in _leaves(configuration, ""):
        name = path.removeprefix(f"{_ROOT}.")
        if name not in NAMES and name != CHANNELS:
            loose = relaxed(name)
            name, value = _BY_RELAXED_NAME.get(loose, name), _minutes(value) if loose == _IN_MINUTES else value
        if name in settings:
            problems.append(f"{name}: is set twice, as {written_as[name]} and as {path}")
        else:
            settings[name], written_as[name] = value, path
    return settings, problems


def _leaves(table: Mapping[str, object], above: str) -> Iterator[tuple[str, object]]:
    """Every value with its dotted path. Tables are opened only where a name of ours can lie inside."""
    for key, value in table.items():
        path = f"{above}.{key}" if above else str(key)
        inner = relaxed(path).removeprefix(f"{_ROOT}.")
        is_opened = inner == _ROOT or any(alias.startswith(f"{inner}.") for alias in _BY_RELAXED_NAME)
        if isinstance(value, Mapping) and is_opened:
            yield from _leaves(value, path)
        else:
            yield path, value


def _minutes(value: object) -> object:
    """Minutes as a duration. Anything else stays as it is, and its type refuses it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 60_000
    return f"{value.strip()}m" if isinstance(value, str) and value.strip().isdecimal() else value


def _flag(value: object) -> bool:
    truth = value if isinstance(value, bool) else _TRUTHS.get(value.lower()) if isinstance(value, str) else None
    if truth is None:
        raise ValueError(f"{value!r} is neither true nor false")
    return truth


def _encoding(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is not the name of an encoding, such as json")
    return s.encoding_name(value)


def _base(value: Any) -> float:
    try:
        base = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        base = math.nan
    # Below 1 the delays would become shorter with every error.
    if not 1 <= base < math.inf:
        raise ValueError(f"{value!r} is not a number of at least 1")
    return base


def _order(value: object) -> str:
    if isinstance(value, str) and value.startswith(s.EXPRESSION_MARK):
        try:
            compile_expression(value.removeprefix(s.EXPRESSION_MARK))
        except FeelSyntaxError as error:
            raise ValueError(str(error)) from None
    elif value not in (s.EVENT_TIME, s.MESSAGE_ID):
        raise ValueError(f"{value!r} is none of {s.EVENT_TIME}, {s.MESSAGE_ID}, or an expression such as = seq")
    return str(value)


_FLAG, _ENCODING = PlainValidator(_flag), PlainValidator(_encoding)
_SPAN, _DELAY, _LIFETIME = duration_ms(least=1), duration_ms(), duration_ms(or_none=True)
_TYPES: dict[str, PlainValidator] = {
    **{name: one_of(*choices) for name, choices in s.CHOICES.items()},
    **dict.fromkeys(("enabled", "cluster", "exhausted_blocks"), _FLAG),
    **dict.fromkeys(("poll_interval", "cleanup_interval", "backoff_unit", "backoff_cap", "lock_at_most"), _SPAN),
    **dict.fromkeys(("poll_initial_delay", "cleanup_initial_delay"), _DELAY),
    **dict.fromkeys(("grace", "expiration", "retention"), _LIFETIME),
    **dict.fromkeys(("page_size", "error_text_max", "payload_max"), whole_number(1)),
    **{"batch_size": whole_number(-1), "max_attempts": whole_number(0), "backoff_base": PlainValidator(_base)},
    **{"encoding": _ENCODING, "order": PlainValidator(_order)},
}
_InboxTable: type[SettingTable] = create_model(
    "_InboxTable", __base__=SettingTable, **{name: (Annotated[Any, _TYPES[name]], None) for name in NAMES}
)  # type: ignore[call-overload]


def read_settings(preset: str, changes: Mapping[str, object]) -> tuple[InboxSettings, list[str]]:
    """The settings of a preset with changes, and every problem; a value that is wrong leaves the preset's in place."""
    wrong_preset = [] if preset in PRESETS else [f"{PRESET}: {preset!r} is none of {', '.join(PRESETS)}"]
    table, problems = check_table(_InboxTable, changes)
    read = {name: getattr(table, name) for name in table.model_fields_set}
    settings = replace(PRESETS.get(preset, InboxSettings()), **read)
    return settings, [*wrong_preset, *problems, *s.contradictions(settings)]


def _table(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r:.80} is not a table")
    return value


class ChannelTable(SettingTable):
    """As `Channel`; its filter is read by `read_filter`."""

    enabled: Annotated[bool, _FLAG] = True
    type: Text = ""
    properties: Annotated[Mapping[str, Any], PlainValidator(_table)] = {}
    filter: Any = None
    target: Text = ""
    grace: Annotated[int | None, _LIFETIME] = None
    encoding: Annotated[str | None, _ENCODING] = None
    expiration: Annotated[int | None, _LIFETIME] = None
    mapping: Annotated[Mapping[str, Any], PlainValidator(_table)] = {}


_CHANNEL_NAMES = {name: name for name in ChannelTable.model_fields} | {
    **{"channelenabled": "enabled", "channeltype": "type"},
    **{"message.timetoliveasstring": "grace", "message.payloadencoding": "encoding"},
}
"""Ours and the document's, as they are compared."""


def read_channels(written: object) -> tuple[dict[str, Channel], list[str]]:
    """The channels by name, and every problem found in them."""
    if not isinstance(written, Mapping):
        return {}, [] if written is None else [f"{CHANNELS}: {written!r:.80} is not a table of channels"]
    problems: list[str] = []
    return {str(name): _read_channel(str(name), table, problems) for name, table in written.items()}, problems


def _read_channel(name: str, written: object, problems: list[str]) -> Channel:
    where = f"{CHANNELS}.{name}"
    given: dict[str, object] = {}
    spelled: dict[str, str] = {}
    for key, value in written.items() if isinstance(written, Mapping) else ():
        # The document's table `message` is opened, all others belong to their setting.
        opened = value.items() if key == "message" and isinstance(value, Mapping) else None
        for path, inner in [(str(key), value)] if opened is None else [(f"message.{it}", v) for it, v in opened]:
            setting = _CHANNEL_NAMES.get(relaxed(path), path)
            given[setting], spelled[setting] = inner, path
    table, found = check_table(ChannelTable, given if isinstance(written, Mapping) else written, where, spelled=spelled)
    filter_, wrong_filter = read_filter(table.filter, f"{where}.filter")
    wrong_mapping = [f"{where}.mapping.{problem}" for problem in read_mapping(table.mapping)[1]]
    problems += [*found, *wrong_filter, *wrong_mapping]
    return Channel(name, **{**dict(table), "filter": filter_})


def read_filter(written: object, where: str = "filter") -> tuple[Filter, list[str]]:
    """The filter that is written, and every problem found in it; what cannot be read accepts everything.

    It is a table with one key: `types` (full names, `orders.*` for a whole namespace), `and`, `or` or `not`; or the
    word `all`.
    """
    problems: list[str] = []
    return _read_filter(written, where, 0, problems), problems


def _read_filter(written: object, where: str, depth: int, problems: list[str]) -> Filter:
    if written is None or written == EVERY_TYPE:
        return EVERYTHING
    if not isinstance(written, Mapping) or len(written) != 1:
        problems.append(f"{where}: {written!r:.80} is not one of types, and, or, not, nor {EVERY_TYPE!r}")
        return EVERYTHING
    [(word, inner)] = written.items()
    where = f"{where}.{word}"
    parts = inner if isinstance(inner, list | tuple) else [inner]
    if depth == _DEEPEST:
        problems.append(f"{where}: is nested more than {_DEEPEST} times")
    elif word == "types":
        names = [name for name in parts if isinstance(name, str) and name.strip()]
        if len(names) == len(parts) and names:
            whole = frozenset(name.removesuffix(".*") for name in names if name.endswith(".*"))
            return Types(frozenset(name for name in names if not name.endswith(".*")), whole)
        problems.append(f"{where}: {inner!r:.80} is not a list of names of types")
    elif word == "not":
        return Not(_read_filter(inner, where, depth + 1, problems))
    elif word not in ("and", "or"):
        problems.append(f"{where}: there is no such filter; there are types, and, or, not")
    elif not parts or parts is not inner:
        problems.append(f"{where}: takes a list of filters")
    else:
        read = (_read_filter(part, f"{where}[{number}]", depth + 1, problems) for number, part in enumerate(parts))
        return And(tuple(read)) if word == "and" else Or(tuple(read))
    return EVERYTHING
