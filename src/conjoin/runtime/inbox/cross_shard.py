"""Spanning groups: messages for our own engine that somebody named a group, on as many shards as they have keys.

They are put in one order and tried one by one, a commit a message, each on its own shard. When nothing more can be done
in a group, each of its shards is told when to look again, unless somebody came to the group meanwhile.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from conjoin.kernel.inbox import InboxMessage, InboxSettings, plan
from conjoin.kernel.inbox.due import TRY, what_is_due
from conjoin.kernel.inbox.outcomes import Outcome
from conjoin.kernel.inbox.run import RunPlan
from conjoin.runtime.inbox.across_shards.shards import Shards
from conjoin.runtime.inbox.counts import Counts
from conjoin.runtime.inbox.on_shard.due_groups import DueGroup, look_at, rests_until, to_plan
from conjoin.runtime.inbox.on_shard.tries import goes_on_after, is_on_its_way, not_lapsed
from conjoin.runtime.inbox.placement import SPANNING
from conjoin.runtime.inbox.requests import InboxRest, InboxTurn
from conjoin.runtime.inbox.rows import Filed

_DEPTH = 100
"""So many messages of a group are read from each shard at a time."""


@dataclass(slots=True)
class _Seen:
    """A group on all of its shards."""

    look: DueGroup
    shards: dict[int, int] = field(default_factory=dict)
    """The shard of each message."""
    versions: dict[int, int] = field(default_factory=dict)
    """By shard, which of its commits last touched the group."""


class _TriedCount(NamedTuple):
    """How many came to something; how many wait for an answer, which may be there at the next look; and no error."""

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

    def _look(self, group: str) -> _Seen:
        seen, looks = _Seen(DueGroup({})), []
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
        """Behind the place where one of them ends nobody is tried: who comes first there is not known."""
        members = {key: filed for look in looks for key, filed in look.members.items()}
        cut_at = min((look.cut_at for look in looks if look.cut_at is not None), default=None)
        if cut_at is not None:
            members = {key: it for key, it in members.items() if it.place <= cut_at or not self._is_ready(it)}
        next_due = min((look.next_due for look in looks if look.next_due is not None), default=None)
        return DueGroup(members, cut_at, next_due)

    def _is_ready(self, filed: Filed) -> bool:
        return what_is_due(filed.message, self._horizon, self._settings) == TRY

    def _settle(self, seen: _Seen) -> bool:
        """Answers that came late, and what happens by itself. Did anything?"""
        on_their_way = [key for key, filed in seen.look.members.items() if is_on_its_way(filed)]
        by_themselves = [message.key for message, _ in self._plan(seen).settled]
        outcomes = [self._turn(seen, key) for key in (*on_their_way, *by_themselves)]
        return any(outcome is not None for outcome in outcomes)

    def _try(self, seen: _Seen, left: int) -> _TriedCount:
        booked = held = 0
        for message in self._plan(seen).tries[: None if left < 0 else left]:
            outcome = self._turn(seen, message.key)
            booked += outcome is not None
            held += outcome is None
            if not goes_on_after(outcome, self._settings):
                return _TriedCount(booked, held, goes_on=outcome is None)
        return _TriedCount(booked, held, goes_on=True)

    def _plan(self, seen: _Seen) -> RunPlan:
        messages = map(self._as_planned, seen.look.members.values())
        return plan(to_plan(messages, self._horizon, self._settings), self._horizon, self._settings)

    def _as_planned(self, filed: Filed) -> InboxMessage:
        """Whether what is on its way has lapsed is known to its shard."""
        return not_lapsed(filed.message, self._horizon) if is_on_its_way(filed) else filed.message

    def _turn(self, seen: _Seen, key: int) -> Outcome | None:
        reply = self._shards.ask(seen.shards[key], InboxTurn(key, self._settings, self._horizon))
        self._counts += reply.counts
        return reply.outcome

    def _rest(self, group: str, seen: _Seen) -> None:
        """What could be tried and was not is due at the next run: the batch is full, or an answer is still to come."""
        at = self._horizon
        due_at = rests_until(seen.look, seen.look.members.values(), at, self._settings, more_at=at + 1)
        for shard, version in seen.versions.items():
            self._shards.ask(shard, InboxRest(group, version, due_at))
