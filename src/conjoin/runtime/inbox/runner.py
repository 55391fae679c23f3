"""A run of the schedule: everything that is due up to one instant, on all shards.

It decides nothing and may be run beside others: each request looks at the rows as they are, and the second one finds
that nothing is due any more. How each kind of target is called is written elsewhere (`runtime/targets`).
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from conjoin.kernel.inbox import InboxSettings
from conjoin.runtime.inbox import requests as r
from conjoin.runtime.inbox.cross_shard import Shards, SpanningRun, finish_moves
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.remote_run import AskShard, RemoteRun, Target

IN_FLIGHT = 8
_ROUND = 8
"""Times as many messages as calls are in flight are about to be sent at a time: few are uncertain after a crash."""


def always() -> bool:
    return True


class RunMaker(Protocol):
    """What makes a run: this process, or a cluster for it."""

    def run(self, is_ours: Callable[[], bool] = always) -> Counts: ...


@dataclass(slots=True)
class InboxRunner:
    """`at_once` is how many messages are tried in a commit, about; `in_flight` how many calls are made at a time."""

    shards: Shards
    settings: InboxSettings
    targets: Mapping[str, Target] = field(default_factory=dict)
    at_once: int = r.AT_ONCE
    in_flight: int = IN_FLIGHT
    _has_noted_rules: bool = False

    def run(self, is_ours: Callable[[], bool] = always) -> Counts:
        """`is_ours` is called between commits: a process that has lost the lease stops."""
        counts = Counts()
        if not self.settings.batch_size:
            return counts
        shards = range(self.shards.count)
        if not self._has_noted_rules:
            # Once for each runner; it costs a read, unless they have changed.
            for shard in shards:
                note_rules(partial(self.shards.ask, shard), self.settings)
            self._has_noted_rules = True
        finish_moves(self.shards)
        horizon = self.shards.now
        for shard in shards:
            # What is past its expiration takes no place in a batch.
            expiry = r.InboxCleanup(self.settings, self.at_once, keeps_all=True)
            counts += clean_up(partial(self.shards.ask, shard), expiry, is_ours)
        for shard in shards:
            counts += self._run_own(shard, horizon, is_ours)
        if self.shards.count > 1:
            counts += SpanningRun(self.shards, self.settings, horizon).run(is_ours)
        if self.targets:
            with ThreadPoolExecutor(self.in_flight) as pool:
                for shard in shards:
                    counts += self._run_remote(shard, horizon, is_ours, pool)
        return counts

    def _run_own(self, shard: int, horizon: int, is_ours: Callable[[], bool]) -> Counts:
        counts, held = Counts(), []
        request = r.InboxRun(self.settings, horizon, self.at_once)
        while is_ours():
            reply = self.shards.ask(shard, request)
            counts += reply.counts
            held += reply.held
            if not reply.looked_at:
                break
        return counts + self._catch_up(shard, horizon, held)

    def _catch_up(self, shard: int, horizon: int, held: list[str]) -> Counts:
        """Answers from other shards have come by now, as a rule; then the others of their groups have their turn."""
        counts = Counts()
        while held:
            reply = self.shards.ask(shard, r.InboxRun(self.settings, horizon, self.at_once, held[: self.at_once]))
            counts += reply.counts
            has_booked = reply.counts != Counts()
            held = held[self.at_once :] + (reply.held if has_booked else [])
        return counts

    def _run_remote(self, shard: int, horizon: int, is_ours: Callable[[], bool], pool: ThreadPoolExecutor) -> Counts:
        limit, ask = _ROUND * self.in_flight, partial(self.shards.ask, shard)
        remote = RemoteRun(ask, self.settings, horizon, self.targets, limit)
        remote.run(pool, is_ours)
        return remote.counts


def note_rules(ask: AskShard, settings: InboxSettings) -> None:
    """All of it, however long it takes: it begins anew if it is broken off."""
    after: str | None = ""
    while after is not None:
        after = ask(r.InboxRules(r.rules_of(settings), after)).next_group


def clean_up(ask: AskShard, request: r.InboxCleanup, is_ours: Callable[[], bool] = always) -> Counts:
    """In as many commits as it takes."""
    counts = Counts()
    while is_ours():
        reply = ask(request)
        counts += reply.counts
        if reply.looked_at < request.limit:
            break
    return counts
