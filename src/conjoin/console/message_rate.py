"""The rate of messages: how many were published, and what was decided of them, for each minute of the last hour.

Counted from the commits of this process, so it costs the same however large the store is; what was there when it
started is taken from the newest messages, as far as these cover whole minutes. Other servers' commits are not seen.
"""

from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

from conjoin.kernel.keys import COUNTER_BITS

MINUTES = 60
_MINUTE_US = 60_000_000
_BY_DEADLINE = ("expired", "short")

Fates = Counter[tuple[str, str]]
"""By verdict and reason."""


class Minute(NamedTuple):
    at: int
    published: int
    decided: Fates


class Pace:
    """Commits are noted in the threads of the shards, minutes are read in others."""

    def __init__(self, now: int) -> None:
        self._lock = Lock()
        self._published: Counter[int] = Counter()
        self._decided: dict[int, Fates] = {}
        self._began = now
        self._seen_up_to: dict[int, int] = {}

    def begin_with(self, newest: Sequence[Any], most: int) -> None:
        """Rows of messages, the newest first. If there may be more of them, the oldest minute is not whole."""
        whole_from = newest[-1].published_at // _MINUTE_US + 1 if len(newest) >= most else 0
        with self._lock:
            for row in newest:
                if row.published_at // _MINUTE_US >= whole_from and row.published_at <= self._began:
                    self._count(row, 0)

    def committed(self, commit: Any) -> None:
        if not commit.messages:
            return
        is_sweep = any(reply.swept for reply in commit.replies)
        with self._lock:
            for row in commit.messages:
                # A deadline is noticed by a sweep; meanwhile others may have committed.
                is_new = is_sweep and row.verdict in _BY_DEADLINE
                self._count(row, self._seen_up_to.get(row.key >> COUNTER_BITS, self._began), is_new)
            for shard in {row.key >> COUNTER_BITS for row in commit.messages}:
                self._seen_up_to[shard] = commit.head.time
            kept = max(self._decided, default=0) - MINUTES
            for counted in (self._decided, self._published):
                for minute in [minute for minute in counted if minute < kept]:
                    del counted[minute]

    def _count(self, row: Any, seen_up_to: int, is_new: bool = False) -> None:
        """A row is written again for other reasons than a verdict."""
        if row.published_at > seen_up_to:
            self._published[row.published_at // _MINUTE_US] += 1
        if is_new or row.decided_at > seen_up_to:
            self._decided.setdefault(row.decided_at // _MINUTE_US, Counter())[row.verdict, row.reason] += 1

    def minutes(self, now: int) -> list[Minute]:
        """The last hour, oldest first; the last one is not over yet."""
        last = now // _MINUTE_US
        with self._lock:
            return [
                Minute(minute * _MINUTE_US, self._published[minute], Counter(self._decided.get(minute, {})))
                for minute in range(last - MINUTES + 1, last + 1)
            ]
