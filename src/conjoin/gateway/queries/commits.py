"""What other processes have committed: the messages of commits that this process has not made, from the logs.

Read for a bounded time; whoever asks again goes on where it ended. Nothing is decided: verdicts are those of the rows.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from time import monotonic
from typing import Any, NamedTuple

from conjoin.errors import ConjoinError
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.instance_history import first_commit_after, first_version_at
from conjoin.runtime.run.log import read_block

_AT_ONCE = 50
_ENDED = "MessageExpired"
_OF_MESSAGES = (
    *("MessagePublished", "MessageCorrelated", "InstanceStarted", "MessageRefused", "MessageDiscarded", _ENDED),
    "MessageReleased",
)


class CommittedMessages(NamedTuple):
    """Of one commit. `expired` are the keys of those whose time was up in it."""

    version: int
    at: int
    rows: list[Any]
    expired: frozenset[int]


def versions(broker: Broker) -> dict[int, int]:
    """How far each shard is; without those that cannot be read, which is told elsewhere."""
    found = {}
    for shard in range(broker.shard_count):
        reader = broker.store.shard(shard).reader()
        with suppress(ConjoinError), closing(reader), reader.begin() as snapshot:
            found[shard] = snapshot.head.version
    return found


def committed_since(
    broker: Broker, shard: int, after: int, since: int, is_ours: Callable[[int], bool], within_s: float
) -> tuple[list[CommittedMessages], int]:
    """Commits beyond a version and an instant that are not ours; and the version up to which that is all of them."""
    ends = monotonic() + within_s
    found: list[CommittedMessages] = []
    with closing(broker.store.shard(shard).reader()) as reader:
        with reader.begin() as snapshot:
            last = snapshot.head.version
        reached = _not_too_old(reader, after, since)
        is_over = False
        while reached < last and not is_over:
            if is_ours(reached + 1):
                reached += 1
                continue
            logged = list(reader.log(reached, _AT_ONCE))
            found += _read(reader, [row for row in logged if row.version <= last and not is_ours(row.version)])
            reached = min(logged[-1].version, last) if logged else last
            # However little time there is, it gets on.
            is_over = monotonic() >= ends
    return found, reached


def _not_too_old(log: Any, after: int, since: int) -> int:
    """The log may have begun later, and what is older than an instant is not asked for."""
    first = first_commit_after(log, after)
    if first is None or first.at >= since:
        return after
    return first_version_at(log, first.version, since) - 1


def _read(reader: Any, logged: list[Any]) -> Iterator[CommittedMessages]:
    named = [_named(row) for row in logged]
    keys = sorted({key for all_keys, _ in named for key in all_keys})
    if not keys:
        return
    with reader.begin() as snapshot:
        rows = {row.key: row for row in snapshot.messages(keys)}
    for row, (mine, expired) in zip(logged, named, strict=True):
        if mine:
            yield CommittedMessages(row.version, row.at, [rows[key] for key in mine if key in rows], expired)


def _named(row: Any) -> tuple[list[int], frozenset[int]]:
    """Keys of the messages that events of a commit name, and of those that expired in it."""
    events = [event for entry in read_block(row.block) for event in entry.events if event.kind in _OF_MESSAGES]
    keys = dict.fromkeys(event.message for event in events)
    return list(keys), frozenset(event.message for event in events if event.kind == _ENDED)
