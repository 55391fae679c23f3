"""What a task does for the inbox: the requests of a run on one shard, as the runtime's own runner asks them.

It decides nothing. A task that is killed, repeated or runs twice at once finds the rows as the last commit has left
them, so nothing is tried twice; only what a killed one has counted is lost. It ends after a time, whatever is left,
so that whoever started it can see to the lease.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from time import monotonic
from typing import NamedTuple

from conjoin.kernel.inbox import InboxSettings
from conjoin.runtime.inbox.cross_shard import without_failing
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.remote_run import RemoteRun
from conjoin.runtime.inbox.requests import InboxCleanup, InboxReply, InboxRequest, InboxRun
from conjoin.runtime.inbox.runner import clean_up, note_rules
from conjoin.runtime.run.batches import Batch, Commit
from conjoin.runtime.run.carriers.spark_tasks import worker_shards
from conjoin.runtime.run.isolation import is_items
from conjoin.runtime.targets import TargetRecipe

_CALLS_AHEAD = 2
"""Times as many messages as calls are in flight are about to be sent at a time: a round ends soon after its time."""

worker_target = lru_cache(maxsize=32)(TargetRecipe.made)
"""A target with its connections, kept for the next tasks of this worker process."""


class DrainRound(NamedTuple):
    """What the tasks of one job know: those of a run that began at `horizon`."""

    address: str
    now: int
    horizon: int
    settings: InboxSettings
    at_once: int
    """Messages in a commit, about."""
    most_s: float
    held: Mapping[int, Sequence[str]] = {}
    """By shard with work for our own engine, groups that waited for an answer of another shard."""
    fresh: Collection[int] = ()
    """Shards for which this is the first job of the run."""
    callers: Mapping[int, Mapping[str, TargetRecipe]] = {}
    """By shard with work for remote targets: those targets, with its share of the calls in flight."""


@dataclass(slots=True)
class Drained:
    """What came of a round on one shard."""

    shard: int
    counts: Counts = field(default_factory=Counts)
    held: list[str] = field(default_factory=list)
    """Groups in which an answer of another shard is still to come."""
    receivers: set[int] = field(default_factory=set)
    """The shards that were sent something."""
    is_done: bool = True
    """Nothing of this run is due here any more, for our own engine."""
    has_called: bool = True
    """Nor for remote targets."""

    @property
    def goes_on(self) -> bool:
        """There is more to do, or answers will have come by the next round."""
        return bool(self.held) or not self.is_done


def drain(round_: DrainRound, shard: int) -> Drained:
    return _Task(round_, shard).run()


def sweep(round_: DrainRound, shard: int) -> Drained:
    """A cleanup instead of a run."""
    return _Task(round_, shard).clean_up()


class _Task:
    def __init__(self, round_: DrainRound, shard: int) -> None:
        self._round = round_
        self._here = worker_shards(round_.address)
        self._until = monotonic() + round_.most_s
        self._drained = Drained(shard)

    def run(self) -> Drained:
        round_, shard = self._round, self._drained.shard
        if shard in round_.fresh:
            note_rules(self._ask, round_.settings)
            # What is past its expiration takes no place in a batch.
            clean_up(self._ask, InboxCleanup(round_.settings, round_.at_once, keeps_all=True))
        if shard in round_.held:
            self._catch_up(round_.held[shard])
            self._run_own()
        if shard in round_.callers:
            self._call(round_.callers[shard])
        return self._drained

    def clean_up(self) -> Drained:
        request = InboxCleanup(self._round.settings, self._round.at_once)
        clean_up(self._ask, request, self._time_is_left())
        self._drained.is_done = monotonic() < self._until
        return self._drained

    def _catch_up(self, held: Sequence[str]) -> None:
        """Answers have come between the rounds, as a rule; then the others of their groups have their turn."""
        at_once = self._round.at_once
        for first in range(0, len(held), at_once):
            reply = self._ask(self._request(held[first : first + at_once]))
            if reply.counts != Counts():
                self._drained.held += reply.held

    def _run_own(self) -> None:
        self._drained.is_done, goes_on = False, self._time_is_left()
        while not self._drained.is_done and goes_on():
            reply = self._ask(self._request())
            self._drained.held += reply.held
            self._drained.is_done = not reply.looked_at

    def _call(self, recipes: Mapping[str, TargetRecipe]) -> None:
        targets = {name: worker_target(recipe) for name, recipe in recipes.items()}
        threads = sum(recipe.limits.calls_in_flight for recipe in recipes.values())
        settings, horizon = self._round.settings, self._round.horizon
        remote = RemoteRun(self._ask_and_count_later, settings, horizon, targets, _CALLS_AHEAD * threads)
        with ThreadPoolExecutor(threads) as pool:
            self._drained.has_called = remote.run(pool, self._time_is_left())
        self._drained.counts += remote.counts

    def _time_is_left(self) -> Callable[[], bool]:
        """Once at least: a run comes to its end, however short its rounds are."""
        is_first = iter((True,))
        return lambda: next(is_first, False) or monotonic() < self._until

    def _request(self, groups: Sequence[str] = ()) -> InboxRun:
        return InboxRun(self._round.settings, self._round.horizon, self._round.at_once, groups)

    def _ask(self, request: InboxRequest) -> InboxReply:
        reply = self._ask_and_count_later(request)
        self._drained.counts += reply.counts
        return reply

    def _ask_and_count_later(self, request: InboxRequest) -> InboxReply:
        """A message whose attempt fails by a mistake of ours has failed; the others of the request are tried."""
        while True:
            try:
                done = self._run(request)
            except Exception as error:  # noqa: BLE001 - which message it was is found out
                request = without_failing(request, error)
            else:
                break
        reply: InboxReply = done.replies[0].inbox
        self._drained.receivers |= done.receivers
        return reply

    def _run(self, request: InboxRequest) -> Commit:
        """With the mail that has come; if that fails, each by itself."""
        now, shard = self._round.now, self._drained.shard
        try:
            return self._here.run_with_mail(now, shard, Batch([request]))
        except Exception as error:
            if not is_items(error):
                raise
        self._drained.receivers |= self._here.take_mail(now, shard)
        return self._here.run(now, shard, Batch([request]))
