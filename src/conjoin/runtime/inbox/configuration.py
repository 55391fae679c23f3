"""The inbox's part of a configuration file: its settings, in our names or the document's, and its channels.

All problems are told at once, each with the name of its setting. What stands under `targets` belongs to whoever makes
those; here only their names count.
"""

from collections.abc import Mapping

from conjoin.errors import SettingsError
from conjoin.feel import FeelSyntaxError, compile_expression
from conjoin.kernel.inbox import InboxSettings, read_settings
from conjoin.kernel.inbox.aliases import CHANNELS, translate
from conjoin.kernel.inbox.channels import Channel, read_channels
from conjoin.kernel.inbox.settings import EXPRESSION_MARK

PRESET, TARGETS = "preset", "targets"
_DEFAULT_PRESET = "conjoin"


def read_inbox(section: Mapping[str, object]) -> tuple[InboxSettings, dict[str, Channel]]:
    """The settings and the channels. Raises `SettingsError` with everything that is wrong."""
    said, problems = translate({name: value for name, value in section.items() if name != TARGETS})
    preset = said.pop(PRESET, _DEFAULT_PRESET)
    channels, wrong_channels = read_channels(said.pop(CHANNELS, None))
    settings, wrong_settings = read_settings(str(preset), said)
    problems += [*wrong_settings, *wrong_channels, *_wrong_order(settings), *_wrong_targets(section, channels)]
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


def _wrong_targets(section: Mapping[str, object], channels: Mapping[str, Channel]) -> list[str]:
    targets = section.get(TARGETS, {})
    if not isinstance(targets, Mapping):
        return [f"{TARGETS}: {targets!r:.80} is not a table of targets"]
    return [
        f"channels.{channel.name}.target: there is no target {channel.target!r}"
        for channel in channels.values()
        if channel.target and channel.target not in targets
    ]
