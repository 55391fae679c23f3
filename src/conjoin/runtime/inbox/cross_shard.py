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
from conjoin.runtime.inbox import requests as r
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.on_shard.attempts import goes_on_after, is_on_its_way, not_lapsed
from conjoin.runtime.inbox.on_shard.due_groups import DueGroup, look_at, rests_until, to_plan
from conjoin.runtime.inbox.placement import MOVING, SPANNING, home_of, stored_group
from conjoin.runtime.inbox.rows import read_row, with_content
from conjoin.runtime.run.isolation import blamed, is_items
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

    def ask(self, shard: int, request: r.InboxRequest) -> r.InboxReply:
        """An attempt that fails by a mistake of ours is booked as failed; the others of the request are made."""
        while True:
            try:
                reply: r.InboxReply = self._broker.carrier.ask(shard, request).inbox
            except Exception as error:  # noqa: BLE001 - which message it was is found out
                request = without_failing(request, error)
            else:
                return reply

    def look(self, shard: int) -> AbstractContextManager[ShardSnapshot]:
        """A shard as it is, to be read only."""
        return self._broker.post.look(shard)


def without_failing(request: r.InboxRequest, error: Exception) -> r.InboxRequest:
    """The request, with the failure noted for the message that caused it; raises if there is none."""
    if not is_items(error) or not isinstance(request, (r.InboxRun, r.InboxTurn)):
        raise error
    key = blamed(error).key
    if key and key not in request.failing:
        _log.error("message %s of the inbox could not be tried: %s", key, text_of(error), exc_info=error)
        return replace(request, failing={**request.failing, key: text_of(error)})
    if key or isinstance(request, r.InboxTurn) or request.limit == 1:
        raise error
    # One at a time: then it is known which message fails.
    return replace(request, limit=1, settings=replace(request.settings, batch_size=1))


def finish_moves(shards: Shards) -> int:
    """All that are under way, on all shards; how many there were. Every run begins with this."""
    number = 0
    for shard in range(shards.count):
        with shards.look(shard) as snapshot:
            groups = [row.group_key for row in snapshot.inbox_groups_due(MOVING, shards.now, r.AT_ONCE)]
            rows = snapshot.inbox_line(groups, 1) if groups else ()
            keys = [row.key for row in rows]
            contents = {row.key: row for row in snapshot.inbox_contents(keys)} if keys else {}
            lines = list(snapshot.inbox_attempts(keys)) if keys else []
        for row in rows:
            message = with_content(read_row(row).message, contents[row.key])
            home = home_of(message._replace(group_key=stored_group(group_key_of(message))), shards.count)
            history = [line for line in lines if line.inbox_key == row.key]
            shards.ask(home, r.InboxMoveIn(row, contents[row.key], history))
            if home != shard:
                shards.ask(shard, r.InboxMoveOut(row.key))
        number += len(rows)
    return number


class _Spread(NamedTuple):
    """A group on all of its shards; the shard of each message; and by shard which commit last touched the group."""

    look: DueGroup
    shards: dict[int, int]
    versions: dict[int, int]


@dataclass(slots=True)
class SpanningRun:
    """All spanning groups in one run of the schedule."""

    shards: Shards
    settings: InboxSettings
    horizon: int
    counts: Counts = field(default_factory=Counts)

    def run(self, is_ours: Callable[[], bool]) -> Counts:
        """`is_ours` is called before each group."""
        while groups := self._due() if is_ours() else ():
            for group in groups:
                if is_ours():
                    self._run_group(group)
        return self.counts

    def _due(self) -> list[str]:
        found: dict[str, None] = {}
        for shard in range(self.shards.count):
            with self.shards.look(shard) as snapshot:
                rows = snapshot.inbox_groups_due(SPANNING, self.horizon, self.settings.page_size)
            found |= dict.fromkeys(row.group_key for row in rows)
        return list(found)

    def _run_group(self, group: str) -> None:
        left = self.settings.batch_size
        while True:
            seen = self._look(group)
            if self._settle(seen):
                continue
            booked, held, goes_on = 0, 0, True
            for message in self._plan(seen).tries[: None if left < 0 else left]:
                outcome = self._turn(seen, message.key)
                booked += outcome is not None
                held += outcome is None
                if not goes_on_after(outcome, self.settings):
                    goes_on = outcome is None
                    break
            left = left - booked if left > 0 else left
            # An answer that is still to come may be there at the next look.
            if not (goes_on and (booked or (held and self._settle(self._look(group))))):
                self._rest(group, self._look(group) if booked else seen)
                return

    def _look(self, group: str) -> _Spread:
        shards, versions, looks = dict[int, int](), dict[int, int](), []
        for shard in range(self.shards.count):
            with self.shards.look(shard) as snapshot:
                look = look_at(snapshot, [group], self.horizon, self.settings, _DEPTH)[group]
                for row in snapshot.inbox_groups([group]):
                    versions[shard] = row.version
            shards |= dict.fromkeys(look.members, shard)
            looks.append(look)
        members = {key: filed for look in looks for key, filed in look.members.items()}
        cut_at = min((look.cut_at for look in looks if look.cut_at is not None), default=None)
        next_due = min((look.next_due for look in looks if look.next_due is not None), default=None)
        if cut_at is not None:
            # Behind the position where one of them ends nothing is tried: which message comes first is not known.
            at, settings = self.horizon, self.settings
            waiting = {key for key, it in members.items() if what_is_due(it.message, at, settings) != TRY}
            members = {key: it for key, it in members.items() if it.place <= cut_at or key in waiting}
        return _Spread(DueGroup(members, cut_at, next_due), shards, versions)

    def _settle(self, seen: _Spread) -> bool:
        """Books answers that came late, and what happens by itself. Did anything?"""
        on_their_way = [key for key, filed in seen.look.members.items() if is_on_its_way(filed)]
        by_themselves = [message.key for message, _ in self._plan(seen).settled]
        outcomes = [self._turn(seen, key) for key in (*on_their_way, *by_themselves)]
        return any(outcome is not None for outcome in outcomes)

    def _plan(self, seen: _Spread) -> RunPlan:
        # Whether what is on its way has lapsed is known to its shard.
        at, members = self.horizon, seen.look.members.values()
        messages = (not_lapsed(it.message, at) if is_on_its_way(it) else it.message for it in members)
        return plan(to_plan(messages, at, self.settings), at, self.settings)

    def _turn(self, seen: _Spread, key: int) -> Outcome | None:
        reply = self.shards.ask(seen.shards[key], r.InboxTurn(key, self.settings, self.horizon))
        self.counts += reply.counts
        return reply.outcome

    def _rest(self, group: str, seen: _Spread) -> None:
        """What could be tried and was not is due at the next run: the batch is full, or an answer is still to come."""
        at = self.horizon
        due_at = rests_until(seen.look, seen.look.members.values(), at, self.settings, more_at=at + 1)
        for shard, version in seen.versions.items():
            self.shards.ask(shard, r.InboxRest(group, version, due_at))
