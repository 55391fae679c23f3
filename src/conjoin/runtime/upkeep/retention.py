"""Retention: what is over is kept for a while and then removed, a little in each commit, so that nothing waits for it.

A message is over when its verdict is final and its deadline has passed, an instance when it has ended, a subscription
when it was closed. What is over never changes again, so it is looked for without a lock, and can be removed late. The
removing itself is a commit like any other, guarded by the shard's version: a run that has loaded what goes away loads
again. Each commit notes up to when the shard was cleaned; `replay` then knows what may be gone.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any, NamedTuple
from uuid import uuid4

from conjoin.kernel.instants import NEVER
from conjoin.kernel.keys import last_key_of, shard_of_key
from conjoin.runtime.engine.placement import homes_in, shard_of
from conjoin.runtime.upkeep.removal import AT_ONCE, HouseKeeper
from conjoin.store import tables as t
from conjoin.store.port import Meets, Store
from conjoin.store.rows import PositionRow
from conjoin.store.tables import Table

SOURCE = LEASE = "retention"
EVERY_US = 600_000_000
_CHECK_EVERY_US = 60_000_000
"""So often the lease is tried."""
FEW = 100
"""Rows a commit, so that a publish that meets one hardly waits."""
_PAGE = 1_000
_LOOKED_AT: dict[Table, Callable[[int], dict[str, Any]]] = {
    t.MESSAGE: lambda cut: {"live": 0},
    t.APART: lambda cut: {"busy_with": 0, "closed_at": Meets((("<", cut),))},
    t.INSTANCE: lambda cut: {"state": ("completed", "terminated")},
}
_NAMES = {t.MESSAGE: t.MESSAGE.name, t.APART: t.SUBSCRIPTION.name, t.INSTANCE: t.INSTANCE.name}
"""By which it is noted up to when a table was cleaned."""
_BORN_AT = {t.MESSAGE: "published_at", t.INSTANCE: "started_at"}
"""Grows with the keys of one shard, so that the young ones need not be looked at."""


class KeepFor(NamedTuple):
    """How long each is kept after it is over, in milliseconds; None is for ever."""

    messages_ms: int | None
    instances_ms: int | None
    log_ms: int | None


KEEP_EVERYTHING = KeepFor(None, None, None)


class Removed(NamedTuple):
    messages: int = 0
    subscriptions: int = 0
    instances: int = 0
    log_blocks: int = 0

    def and_also(self, more: "Removed") -> "Removed":
        return Removed(*(mine + theirs for mine, theirs in zip(self, more, strict=True)))


def over_at(table: Table, row: Any) -> int | None:
    """Since when nothing can happen to a row any more; None while something can."""
    if table is t.MESSAGE:
        if row.live:
            return None
        return int(row.decided_at) if row.deadline == NEVER else max(row.decided_at, row.deadline)
    if table in (t.SUBSCRIPTION, t.APART):
        return None if row.busy_with else row.closed_at
    return row.ended_at if table is t.INSTANCE else None


class Cuts:
    """Up to when a shard was cleaned, table by table: what was over before may be gone."""

    def __init__(self, positions: Iterable[PositionRow]) -> None:
        self._instants = {row.part: int(row.position) for row in positions if row.source == SOURCE}
        # A closed one that stands in the row of its instance goes with it.
        with_instances = self._instants.get(t.INSTANCE.name, 0)
        self._instants[t.SUBSCRIPTION.name] = max(self._instants.get(t.SUBSCRIPTION.name, 0), with_instances)

    def may_be_gone(self, table: Table, row: Any) -> bool:
        over = over_at(table, row)
        return over is not None and over < self._instants.get(table.name, 0)


class Retention:
    """For one thread; it has connections of its own."""

    def __init__(self, store: Store, keep_for: KeepFor, at_once: int = AT_ONCE) -> None:
        """A commit removes `at_once` rows at most."""
        self._store = store
        self._keep_for = keep_for
        self._keepers = [HouseKeeper(store, index, at_once) for index in range(store.facts.shards)]
        self._homes = homes_in(self._keepers[0].shard, store.facts.shards)

    def sweep(self, now: int) -> Removed:
        """Everything that has been over for long enough."""
        return reduce(Removed.and_also, self.commits(now), Removed())

    def commits(self, now: int) -> Iterator[Removed]:
        """The same, commit by commit: the caller may rest before each."""
        messages_ms, instances_ms, log_ms = self._keep_for
        kept = ((t.MESSAGE, messages_ms), (t.APART, messages_ms), (t.INSTANCE, instances_ms))
        for table, keep_ms in kept:
            if keep_ms is not None:
                counts = self._remove(table, now - keep_ms * 1_000)
                yield from (Removed(**{f"{_NAMES[table]}s": count}) for count in counts)
        if log_ms is not None:
            for keeper in self._keepers:
                yield from (Removed(log_blocks=count) for count in keeper.remove_log("at", now - log_ms * 1_000))

    def close(self) -> None:
        for keeper in self._keepers:
            keeper.close()

    def _remove(self, table: Table, cut: int) -> Iterator[int]:
        cleaned = PositionRow(SOURCE, _NAMES[table], str(cut))
        for page in self._over_before(table, cut):
            by_shard: dict[int, list[tuple[Any, ...]]] = {}
            for row in page:
                if table is t.INSTANCE:
                    shard = self._homes.shard_of_record(row.key)
                else:
                    shard = shard_of(row.correlation_key, self._store.facts.shards)
                by_shard.setdefault(shard, []).append(table.key_of(row))
            for shard, keys in by_shard.items():
                yield from self._keepers[shard].remove(table, keys, cleaned)

    def _over_before(self, table: Table, cut: int) -> Iterator[list[Any]]:
        after: tuple[Any, ...] | None = None
        while rows := list(self._store.rows(table, _LOOKED_AT[table](cut), after, _PAGE)):
            found = [row for row in rows if (over := over_at(table, row)) is not None and over < cut]
            if found:
                yield found
            last = rows[-1]
            after = table.key_of(last)
            if table in _BORN_AT and getattr(last, _BORN_AT[table]) >= cut:
                after = (last_key_of(shard_of_key(last.key)),)


class Cleaning:
    """Retention that goes on by itself, one bounded commit at a time, beside everything else. For one thread.

    It is done by the process that has the lease in the catalog. The lease is not given back when all is done: it runs
    out when the next round is due, and so says when that is to all processes, also to those that come later.
    """

    def __init__(self, store: Store, clock: Callable[[], int], keep_for: KeepFor) -> None:
        self.removed = Removed()
        """All that it has ever removed."""
        self._store = store
        self._clock = clock
        self._keep_for = keep_for
        self._holder = uuid4().hex
        self._leased_until = 0
        self._checks_at = 0
        self._retention: Retention | None = None
        self._commits: Iterator[Removed] | None = None

    def go_on(self) -> bool:
        """One commit, if a round is due or under way; False when there is nothing to do for now."""
        now = self._clock()
        if not self._is_our_turn(now):
            return False
        try:
            if self._retention is None:
                self._retention = Retention(self._store, self._keep_for, FEW)
            if self._commits is None:
                self._commits = self._retention.commits(now)
            removed = next(self._commits, None)
        except BaseException:  # whatever it was, the round begins again: the rest of what it removes is found again
            self._rest(now + _CHECK_EVERY_US)
            raise
        if removed is None:
            self._rest(self._leased_until)
            return False
        self.removed = self.removed.and_also(removed)
        return True

    def _is_our_turn(self, now: int) -> bool:
        if self._keep_for == KEEP_EVERYTHING:
            return False
        if self._commits is not None and now < self._leased_until - EVERY_US // 2 <= now + EVERY_US:
            return True
        # Further ahead than a whole round it lies only if the clock was set back since.
        if now < self._checks_at <= now + EVERY_US:
            return False
        if self._store.catalog.lease(LEASE, self._holder, now, now + EVERY_US):
            self._leased_until = now + EVERY_US
            return True
        self._rest(now + _CHECK_EVERY_US)
        return False

    def _rest(self, until: int) -> None:
        self._commits = None
        self._checks_at = until

    def close(self) -> None:
        if self._retention is not None:
            self._retention.close()
