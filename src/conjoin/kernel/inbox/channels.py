"""Channels: where messages come in, what holds for those that come that way, and which types they take.

What a channel leaves open is answered by the settings; what a message says in its own headers stands over both. How a
source is read is not known here: its `properties` are handed on as they are written. A filter is a plain value, so it
can be sent to wherever the rows are; it says nothing about whether a message can be used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conjoin.kernel.inbox.message import MessageType


@dataclass(frozen=True, slots=True)
class Types:
    """Accepts the named types, and whole namespaces."""

    names: frozenset[str]
    namespaces: frozenset[str] = frozenset()

    def accepts(self, type_: MessageType) -> bool:
        return type_.full_name in self.names or type_.namespace in self.namespaces


@dataclass(frozen=True, slots=True)
class And:
    """Without parts it accepts everything."""

    parts: "tuple[Filter, ...]" = ()

    def accepts(self, type_: MessageType) -> bool:
        return all(part.accepts(type_) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    parts: "tuple[Filter, ...]"

    def accepts(self, type_: MessageType) -> bool:
        return any(part.accepts(type_) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    part: "Filter"

    def accepts(self, type_: MessageType) -> bool:
        return not self.part.accepts(type_)


Filter = Types | And | Or | Not

EVERYTHING: Filter = And()


@dataclass(frozen=True, slots=True)
class Channel:
    """None means: as the settings say. Durations are milliseconds.

    A channel that is not enabled drops what is sent to it. `target` names the remote system that its messages are for;
    empty: our own engine. `mapping` is as it is written: which part of a row is which part of a hint.
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
