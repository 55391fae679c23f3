"""The inbox across shards: requests to each shard, messages that move, and groups that span several shards.

A message whose key was corrected goes to the shard where it belongs: stored there first, then removed here, and each
step can be repeated. Whatever crashes in between, the message is there once, and is tried only on its new shard. A
group that was named explicitly may have messages on any shard: they are put in one order and tried one by one, a commit
a message. When nothing more can be done in it, each shard notes when to look again, unless the group was touched
meanwhile.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from conjoin.kernel.inbox import InboxSettings, plan
from conjoin.kernel.inbox.due import TRY, what_is_due
from conjoin.kernel.inbox.groups import group_key_of
from conjoin.kernel.inbox.outcomes import Outcome
from conjoin.kernel.inbox.run import RunPlan
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.on_shard.attempts import goes_on_after, is_on_its_way, not_lapsed
from conjoin.runtime.inbox.on_shard.due_groups import DueGroup, look_at, rests_until, to_plan
from conjoin.runtime.inbox.placement import MOVING, SPANNING, home_of, stored_group
from conjoin.runtime.inbox.requests import (
    AT_ONCE,
    InboxMoveIn,
    InboxMoveOut,
    InboxReply,
    InboxRequest,
    InboxRest,
    InboxRun,
    InboxTurn,
    Moved,
)
from conjoin.runtime.inbox.rows import read_row, with_content
from conjoin.runtime.run.isolation import blamed
from conjoin.runtime.run.sweeping import is_items
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store.port import ShardSnapshot, Store

_log = logging.getLogger(__name__)
_DEPTH = 100
"""So many messages of a spanning group are read from each shard at a time."""


class Shards:
    """Each request is a commit, and what follows from it is delivered."""

    def __init__(self, broker: Broker) -> None:
        self.count = broker.shard_count
        self.store: Store = broker.store
        self._broker = broker

    @property
    def now(self) -> int:
        return self._broker.now

    def ask(self, shard: int, request: InboxRequest) -> InboxReply:
        """An attempt that fails by a mistake of ours is booked as failed; the others of the request are made."""
        while True:
            try:
                reply: InboxReply = self._broker.carrier.ask(shard, request).inbox  # type: ignore[arg-type]
            except Exception as error:  # noqa: BLE001 - which message it was is found out
                request = without_failing(request, error)
            else:
                return reply

    def look(self, shard: int) -> AbstractContextManager[ShardSnapshot]:
        """A shard as it is, to be read only."""
        return self._broker.post.look(shard)


def without_failing(request: InboxRequest, error: Exception) -> InboxRequest:
    """The request, with the failure noted for the message that caused it; raises if there is none."""
    if not is_items(error) or not isinstance(request, (InboxRun, InboxTurn)):
        raise error
    key = blamed(error).key
    if key and key not in request.failing:
        _log.error("message %s of the inbox could not be tried: %s", key, text_of(error), exc_info=error)
        return replace(request, failing={**request.failing, key: text_of(error)})
    if key or isinstance(request, InboxTurn) or request.limit == 1:
        raise error
    # One at a time: then it is known which message fails.
    return replace(request, limit=1, settings=replace(request.settings, batch_size=1))


def finish_moves(shards: Shards) -> int:
    """All that are under way, on all shards; how many there were. Every run begins with this."""
    number = 0
    for shard in range(shards.count):
        with shards.look(shard) as snapshot:
            moved = _all_moving(snapshot, shards.now)
        for it in moved:
            message = with_content(read_row(it.row).message, it.content)
            home = home_of(message._replace(group_key=stored_group(group_key_of(message))), shards.count)
            shards.ask(home, InboxMoveIn(it))
            if home != shard:
                shards.ask(shard, InboxMoveOut(it.row.key))
        number += len(moved)
    return number


def _all_moving(snapshot: ShardSnapshot, now: int) -> list[Moved]:
    groups = [row.group_key for row in snapshot.inbox_groups_due(MOVING, now, AT_ONCE)]
    rows = snapshot.inbox_line(groups, 1) if groups else ()
    if not rows:
        return []
    keys = [row.key for row in rows]
    contents = {row.key: row for row in snapshot.inbox_contents(keys)}
    lines = list(snapshot.inbox_attempts(keys))
    return [Moved(row, contents[row.key], [it for it in lines if it.inbox_key == row.key]) for row in rows]


@dataclass(slots=True)
class _Spread:
    """A group on all of its shards."""

    look: DueGroup
    shards: dict[int, int] = field(default_factory=dict)
    """The shard of each message."""
    versions: dict[int, int] = field(default_factory=dict)
    """By shard, which of its commits last touched the group."""


class _TriedCount(NamedTuple):
    """How many have an outcome; how many wait for an answer, which may come before the next look; and no error."""

    booked: int
    held: int
    goes_on: bool


class SpanningRun:
    """All spanning groups in one run of the schedule."""

    def __init__(self, shards: Shards, settings: InboxSettings, horizon: int) -> None:
        self._counts = Counts()
        self._shards = shards
        self._settings = settings
        self._horizon = horizon

    def run(self, is_ours: Callable[[], bool]) -> Counts:
        """`is_ours` is asked before each group."""
        while groups := self._due() if is_ours() else ():
            for group in groups:
                if is_ours():
                    self._run_group(group)
        return self._counts

    def _due(self) -> list[str]:
        found: dict[str, None] = {}
        for shard in range(self._shards.count):
            with self._shards.look(shard) as snapshot:
                rows = snapshot.inbox_groups_due(SPANNING, self._horizon, self._settings.page_size)
            found |= dict.fromkeys(row.group_key for row in rows)
        return list(found)

    def _run_group(self, group: str) -> None:
        left = self._settings.batch_size
        while True:
            seen = self._look(group)
            if self._settle(seen):
                continue
            tried = self._try(seen, left)
            left = left - tried.booked if left > 0 else left
            if tried.goes_on and (tried.booked or (tried.held and self._settle(self._look(group)))):
                continue
            self._rest(group, self._look(group) if tried.booked else seen)
            return

    def _look(self, group: str) -> _Spread:
        seen, looks = _Spread(DueGroup({})), []
        for shard in range(self._shards.count):
            with self._shards.look(shard) as snapshot:
                look = look_at(snapshot, [group], self._horizon, self._settings, _DEPTH)[group]
                for row in snapshot.inbox_groups([group]):
                    seen.versions[shard] = row.version
            seen.shards |= dict.fromkeys(look.members, shard)
            looks.append(look)
        seen.look = self._merged(looks)
        return seen

    def _merged(self, looks: list[DueGroup]) -> DueGroup:
        """Behind the position where one of them ends nothing is tried: which message comes first there is not known."""
        members = {key: filed for look in looks for key, filed in look.members.items()}
        cut_at = min((look.cut_at for look in looks if look.cut_at is not None), default=None)
        if cut_at is not None:
            at, settings = self._horizon, self._settings
            waiting = {key for key, it in members.items() if what_is_due(it.message, at, settings) != TRY}
            members = {key: it for key, it in members.items() if it.place <= cut_at or key in waiting}
        next_due = min((look.next_due for look in looks if look.next_due is not None), default=None)
        return DueGroup(members, cut_at, next_due)

    def _settle(self, seen: _Spread) -> bool:
        """Books answers that came late, and what happens by itself. Did anything?"""
        on_their_way = [key for key, filed in seen.look.members.items() if is_on_its_way(filed)]
        by_themselves = [message.key for message, _ in self._plan(seen).settled]
        outcomes = [self._turn(seen, key) for key in (*on_their_way, *by_themselves)]
        return any(outcome is not None for outcome in outcomes)

    def _try(self, seen: _Spread, left: int) -> _TriedCount:
        booked = held = 0
        for message in self._plan(seen).tries[: None if left < 0 else left]:
            outcome = self._turn(seen, message.key)
            booked += outcome is not None
            held += outcome is None
            if not goes_on_after(outcome, self._settings):
                return _TriedCount(booked, held, goes_on=outcome is None)
        return _TriedCount(booked, held, goes_on=True)

    def _plan(self, seen: _Spread) -> RunPlan:
        # Whether what is on its way has lapsed is known to its shard.
        at, settings = self._horizon, self._settings
        messages = (
            not_lapsed(it.message, at) if is_on_its_way(it) else it.message for it in seen.look.members.values()
        )
        return plan(to_plan(messages, at, settings), at, settings)

    def _turn(self, seen: _Spread, key: int) -> Outcome | None:
        reply = self._shards.ask(seen.shards[key], InboxTurn(key, self._settings, self._horizon))
        self._counts += reply.counts
        return reply.outcome

    def _rest(self, group: str, seen: _Spread) -> None:
        """What could be tried and was not is due at the next run: the batch is full, or an answer is still to come."""
        at = self._horizon
        due_at = rests_until(seen.look, seen.look.members.values(), at, self._settings, more_at=at + 1)
        for shard, version in seen.versions.items():
            self._shards.ask(shard, InboxRest(group, version, due_at))
