"""The inbox's part of a configuration file: its settings, in our names or the document's, its channels and targets.

All problems are told at once, each with the name of its setting. Whoever makes no calls asks for the settings and
channels alone, and needs no secrets of the targets.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from conjoin.errors import SettingsError
from conjoin.feel import FeelSyntaxError, compile_expression
from conjoin.kernel.inbox import InboxSettings, read_settings
from conjoin.kernel.inbox.channels import Channel, read_channels
from conjoin.kernel.inbox.configuration.aliases import CHANNELS, translate
from conjoin.kernel.inbox.settings import EXPRESSION_MARK
from conjoin.runtime.inbox.mapping import read_mapping
from conjoin.runtime.targets import RemoteTarget, read_target
from conjoin.shown_urls import kind_of

PRESET, TARGETS = "preset", "targets"
_DEFAULT_PRESET = "conjoin"


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
            targets[name] = _read_target(name, table, environment)
        except SettingsError as error:
            problems += [f"inbox: {problem}" for problem in error.problems]
    if problems:
        raise SettingsError(problems)
    return Configuration(settings, channels, targets)


def _read_target(name: str, table: object, environment: Mapping[str, str]) -> RemoteTarget:
    if not isinstance(table, Mapping):
        raise SettingsError([f"{TARGETS}.{name}: {kind_of(table)} is not a table of settings"])
    return read_target(name, table, environment)


def read_inbox(section: Mapping[str, object]) -> tuple[InboxSettings, dict[str, Channel]]:
    """The settings and the channels. Raises `SettingsError` with everything that is wrong."""
    said, problems = translate({name: value for name, value in section.items() if name != TARGETS})
    preset = said.pop(PRESET, _DEFAULT_PRESET)
    channels, wrong_channels = read_channels(said.pop(CHANNELS, None))
    settings, wrong_settings = read_settings(str(preset), said)
    problems += [*wrong_settings, *wrong_channels, *_wrong_order(settings), *_wrong_targets(section, channels)]
    problems += _wrong_mappings(channels)
    if problems:
        raise SettingsError([f"inbox: {problem}" for problem in problems])
    return settings, channels


def _wrong_order(settings: InboxSettings) -> list[str]:
    if not settings.order.startswith(EXPRESSION_MARK):
        return []
    try:
        compile_expression(settings.order.removeprefix(EXPRESSION_MARK))
    except FeelSyntaxError as error:
        return [f"order: {error}"]
    return []


def _wrong_mappings(channels: Mapping[str, Channel]) -> Iterator[str]:
    for channel in channels.values():
        _, problems = read_mapping(channel.mapping)
        yield from (f"channels.{channel.name}.mapping.{problem}" for problem in problems)


def _wrong_targets(section: Mapping[str, object], channels: Mapping[str, Channel]) -> list[str]:
    targets = section.get(TARGETS, {})
    if not isinstance(targets, Mapping):
        return [f"{TARGETS}: {kind_of(targets)} is not a table of targets"]
    return [
        f"channels.{channel.name}.target: there is no target {channel.target!r}"
        for channel in channels.values()
        if channel.target and channel.target not in targets
    ]
