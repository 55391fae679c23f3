"""Channels: where messages come in, and what holds for those that come that way.

What a channel leaves open is answered by the settings; what a message says in its own headers stands over both. How
a source of a type is read is not known here: its `properties` are handed on as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conjoin.kernel.inbox.configuration.aliases import relaxed
from conjoin.kernel.inbox.configuration.filters import EVERYTHING, Filter, read_filter
from conjoin.kernel.inbox.configuration.reading import Read, read_encoding, read_flag, read_optional_duration


@dataclass(frozen=True, slots=True)
class Channel:
    """None means: as the settings say. Durations are milliseconds.

    A channel that is not enabled is not read, and who sends to it is told so. `target` names the remote system that
    its messages are for; empty: our own engine. `mapping` is as it is written, and read elsewhere: which part of a row
    is which part of a hint.
    """

    name: str
    enabled: bool = True
    type: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    filter: Filter = EVERYTHING
    target: str = ""
    grace: int | None = None
    encoding: str | None = None
    expiration: int | None = None
    mapping: Mapping[str, Any] = field(default_factory=dict)


_NAMES = {
    "enabled": "enabled",
    "channelenabled": "enabled",
    "type": "type",
    "channeltype": "type",
    "properties": "properties",
    "filter": "filter",
    "target": "target",
    "grace": "grace",
    "message.timetoliveasstring": "grace",
    "encoding": "encoding",
    "message.payloadencoding": "encoding",
    "expiration": "expiration",
    "mapping": "mapping",
}
"""Ours and the document's, as they are compared."""


def read_channels(written: object) -> tuple[dict[str, Channel], list[str]]:
    """The channels by name, and every problem found in them."""
    if not isinstance(written, Mapping):
        return {}, [] if written is None else [f"channels: {written!r:.80} is not a table of channels"]
    problems: list[str] = []
    return {str(name): _read_channel(str(name), table, problems) for name, table in written.items()}, problems


def _read_channel(name: str, written: object, problems: list[str]) -> Channel:
    where = f"channels.{name}"
    if not isinstance(written, Mapping):
        problems.append(f"{where}: {written!r:.80} is not a table of settings")
        return Channel(name)
    read: dict[str, Any] = {}
    for key, value in _flat(written).items():
        setting = _NAMES.get(relaxed(key))
        answer, problem = _read(setting, value, where, problems)
        if problem is not None:
            problems.append(f"{where}.{key}: {problem}")
        elif setting is not None:
            read[setting] = answer
    return Channel(name, **read)


def _flat(written: Mapping[Any, object]) -> dict[str, object]:
    """The document's table `message` is opened, all others belong to their setting."""
    flat: dict[str, object] = {}
    for key, value in written.items():
        if key == "message" and isinstance(value, Mapping):
            flat |= {f"message.{inner}": v for inner, v in value.items()}
        else:
            flat[str(key)] = value
    return flat


def _read(setting: str | None, value: object, where: str, problems: list[str]) -> Read:
    if setting == "enabled":
        return read_flag(value)
    if setting == "encoding":
        return read_encoding(value)
    if setting in ("grace", "expiration"):
        return read_optional_duration(value)
    if setting == "type":
        return value, None if isinstance(value, str) else f"{value!r} is not the name of a source"
    if setting == "target":
        return value, None if isinstance(value, str) else f"{value!r:.80} is not the name of a target"
    if setting in ("properties", "mapping"):
        return value, None if isinstance(value, Mapping) else f"{value!r:.80} is not a table"
    if setting == "filter":
        accepted, found = read_filter(value, f"{where}.filter")
        problems += found
        return accepted, None
    return None, f"there is no such setting of a channel; there are {', '.join(dict.fromkeys(_NAMES.values()))}"
