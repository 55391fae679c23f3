"""The log: one block a commit, with the requests, when each was carried out, and every event that followed.

A block is JSON, compressed unless it is small: a list of entries, each the request as it was received, its instant,
where the keys stood, and its events in order. An event is a list: the number of its kind (its name, in earlier
versions), then its values by position. Records are
written as their keys: a message as the number it got, a subscription as its own. Blocks are only appended; replaying
them gives the state again (`replay.py`).
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from conjoin.kernel.correlation import events as e
from conjoin.kernel.process import events as pe
from conjoin.kernel.process import work_events as w
from conjoin.kernel.process.step import Item
from conjoin.runtime.codec.json_text import json_bytes, read_json
from conjoin.runtime.codec.orders import read_order
from conjoin.store import tables as t
from conjoin.store.port import Changes, ShardSnapshot
from conjoin.store.rows import LogRow

_FAST = 1
_SMALL_BYTES = 4_096
"""Below this, compressing takes longer than it saves."""
_texts = msgspec.json.Decoder(list[msgspec.Raw]).decode
_PATHS = {
    "message": ("message.key",),
    "subscription": ("subscription.key",),
    "holder": ("holder.key",),
    "start": ("start.process_id", "start.element_id"),
    "before": (),
}
"""What is written of a field that is a record."""
_TEXT_MESSAGES = (w.JobFailed, w.ErrorThrown)
"""Their `message` is a text."""
KINDS: tuple[type, ...] = (
    e.MessagePublished,
    e.MessageCorrelated,
    e.InstanceStarted,
    e.MessageRefused,
    e.MessageDiscarded,
    e.MessageExpired,
    e.MessageHeld,
    e.MessageReleased,
    e.MessageAnswered,
    e.SubscriptionOpened,
    e.SubscriptionClosed,
    e.SubscriptionRefused,
    e.CorrelationAcknowledged,
    e.CorrelationGivenBack,
    e.LockFreed,
    e.OrderRefused,
    pe.InstanceCreated,
    pe.InstanceCompleted,
    pe.InstanceTerminated,
    pe.ElementEntered,
    pe.LoopEntered,
    pe.ElementPassed,
    pe.ElementCompleted,
    pe.ElementTerminated,
    pe.TokenAdded,
    pe.FlowTaken,
    pe.TokensJoined,
    pe.TokenDropped,
    pe.ElementTriggered,
    pe.ScopeTerminating,
    pe.ScopeInterrupted,
    pe.ScopeEnding,
    pe.ScopeShut,
    pe.InterruptionBegun,
    pe.VariablesWritten,
    pe.ResultKept,
    pe.CommandRefused,
    w.MessageAwaited,
    w.SignalAwaited,
    w.TimerStarted,
    w.TimerEnded,
    w.JobCreated,
    w.JobActivated,
    w.JobCompleted,
    w.JobFailed,
    w.ErrorThrown,
    w.JobReturned,
    w.RetriesUpdated,
    w.TimeoutUpdated,
    w.TaskAssigned,
    w.IncidentRaised,
    w.IncidentResolved,
)
"""An event is written with its place here as its number: new ones come at the end, and none is taken out."""


def _paths(kind: type) -> tuple[str, ...]:
    names = [field.name for field in fields(kind)]
    if kind in _TEXT_MESSAGES:
        return tuple(names)
    return tuple(path for name in names for path in _PATHS.get(name, (name,)))


Written = tuple[Any, ...]
"""An event by position: the number of its kind, then its values."""


def _by_paths(number: int, kind: type) -> Callable[[Any], Written]:
    paths = _paths(kind)
    get: Callable[[Any], Any] = attrgetter(*paths)
    return (lambda event: (number, *get(event))) if len(paths) > 1 else (lambda event: (number, get(event)))


def _published(it: e.MessagePublished) -> Written:
    return 0, it.message.key, it.at


def _correlated(it: e.MessageCorrelated) -> Written:
    return 1, it.message.key, it.subscription.key, it.at, it.reason


def _opened(it: e.SubscriptionOpened) -> Written:
    return 9, it.subscription.key, it.at


def _closed(it: e.SubscriptionClosed) -> Written:
    return 10, it.subscription.key, it.at, it.answered


def _entered(it: pe.ElementEntered) -> Written:
    return 19, it.key, it.element_id, it.scope_key, it.active, it.variables


def _completed(it: pe.ElementCompleted) -> Written:
    return 22, it.key


def _flow_taken(it: pe.FlowTaken) -> Written:
    return 25, it.key, it.element_id, it.scope_key, it.flow_id, it.joins


def _triggered(it: pe.ElementTriggered) -> Written:
    return 28, it.key, it.element_id, it.variables, it.subscription_key


def _variables_written(it: pe.VariablesWritten) -> Written:
    return 34, it.scope_key, it.variables


def _awaited(it: w.MessageAwaited) -> Written:
    return 37, it.key, it.subscription.key


_NAMES = tuple(kind.__name__ for kind in KINDS)
_PATHS_OF = {kind.__name__: _paths(kind) for kind in KINDS}
BY_PATHS: dict[type, Callable[[Any], Written]] = {kind: _by_paths(number, kind) for number, kind in enumerate(KINDS)}
WRITERS: dict[type, Callable[[Any], Written]] = BY_PATHS | {
    **{e.MessagePublished: _published, e.MessageCorrelated: _correlated, e.SubscriptionOpened: _opened},
    **{e.SubscriptionClosed: _closed, pe.ElementEntered: _entered, pe.ElementCompleted: _completed},
    **{pe.FlowTaken: _flow_taken, pe.ElementTriggered: _triggered, pe.VariablesWritten: _variables_written},
    w.MessageAwaited: _awaited,
}
"""Those of every message are written out: compiled, that takes a fifth of the time."""


def write_events(decided: Iterable[e.Event | Item], into: list[Written]) -> None:
    """The events among what was decided; the orders that follow have events of their own."""
    for event in decided:
        write = WRITERS.get(type(event))
        if write is not None:
            into.append(write(event))


def written_events(decided: Iterable[e.Event | Item]) -> list[tuple[Any, ...]]:
    """With the names of their kinds."""
    written: list[tuple[Any, ...]] = []
    write_events(decided, written)
    return [(_NAMES[event[0]], *event[1:]) for event in written]


@dataclass(slots=True, repr=False, eq=False)
class LoggedEvent:
    """An event of the log: its kind, and its values by name; records are their keys (`message`, `subscription`)."""

    kind: str
    values: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"


def read_event(written: list[Any]) -> LoggedEvent:
    kind, *values = written
    if isinstance(kind, int):
        kind = _NAMES[kind]
    paths = (path.removesuffix(".key").replace(".", "_") for path in _PATHS_OF[kind])
    return LoggedEvent(kind, dict(zip(paths, values, strict=True)))


class Entry(NamedTuple):
    """A request, or an order from another shard. `next_key` is where the keys stood when it was carried out."""

    request: Any
    at: int
    next_key: int
    events: list[LoggedEvent]


def entry_text(request: list[Any], at: int, next_key: int, events: list[Written]) -> bytes:
    return json_bytes((request, at, next_key, events))


def block_of(entries: list[bytes]) -> bytes:
    text = b"[%b]" % b",".join(entries)
    return text if len(text) < _SMALL_BYTES else zlib.compress(text, _FAST)


def without_requests(snapshot: ShardSnapshot, catalog_version: int) -> Changes:
    """A commit like any other, with a version and an empty block, so nothing else need know of it."""
    head = snapshot.head._replace(version=snapshot.head.version + 1)
    return Changes(head, {t.LOG: [LogRow(head.version, catalog_version, head.time, block_of([]))]})


def read_block(block: bytes) -> Iterator[Entry]:
    yield from map(_entry, read_json(_text_of(block)))


def raw_entries(block: bytes) -> list[Any]:
    """As they are written, by position: see `Entry`."""
    entries: list[Any] = read_json(_text_of(block))
    return entries


def read_wanted(block: bytes, is_wanted: Callable[[bytes], bool]) -> Iterator[Entry]:
    """The entries whose text is wanted; the others, a thousand perhaps, stay unread."""
    text = _text_of(block)
    if is_wanted(text):
        for one in _texts(text):
            if is_wanted(bytes(one)):
                yield _entry(read_json(one))


def _text_of(block: bytes) -> bytes:
    return block if block.startswith(b"[") else zlib.decompress(block)


def _entry(written: list[Any]) -> Entry:
    request, at, next_key, events = written
    return Entry(read_order(request), at, next_key, [read_event(event) for event in events])
