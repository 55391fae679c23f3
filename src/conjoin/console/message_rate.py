"""The rate of messages: how many were published, and what was decided of them, for each minute of the last hour.

Commits of this process are counted as they are made, so it costs the same however large the store is; those of other
writers (servers, Spark, the command line) are read from the logs when somebody looks. What was there at the start is
taken from the newest messages, as far as these cover whole minutes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from conjoin.kernel.keys import COUNTER_BITS

MINUTES = 60
HOUR_US = 3_600_000_000
_MINUTE_US = 60_000_000
_BY_DEADLINE = ("expired", "short")
_MOST_NOTED = 100_000

Fates = Counter[tuple[str, str]]
"""By verdict and reason."""


class Minute(NamedTuple):
    at: int
    published: int
    decided: Fates


class Pace:
    """Commits are noted in the threads of the shards, minutes are read in others."""

    def __init__(self, now: int, versions: Mapping[int, int] | None = None) -> None:
        """`versions`: how far each shard was just before; commits of others are followed on these."""
        self._lock = Lock()
        self._published: Counter[int] = Counter()
        self._decided: dict[int, Fates] = {}
        self._began = now
        self._seen_up_to: dict[int, int] = {}
        self._followed = dict(versions or {})
        """By shard: all commits up to this version are counted."""
        self._ours: dict[int, set[int]] = {}
        """Versions beyond that which are counted, too."""

    def begin_with(self, newest: Sequence[Any], most: int) -> None:
        """Rows of messages, the newest first. If there may be more of them, the oldest minute is not whole."""
        whole_from = newest[-1].published_at // _MINUTE_US + 1 if len(newest) >= most else 0
        with self._lock:
            for row in newest:
                if row.published_at // _MINUTE_US >= whole_from and row.published_at <= self._began:
                    self._count(row, 0)

    def committed(self, commit: Any) -> None:
        with self._lock:
            if self._is_counted(commit) or not commit.messages:
                return
            is_sweep = any(reply.swept for reply in commit.replies)
            for row in commit.messages:
                # A deadline is noticed by a sweep; meanwhile others may have committed.
                is_new = is_sweep and row.verdict in _BY_DEADLINE
                self._count(row, self._seen_up_to.get(row.key >> COUNTER_BITS, self._began), is_new)
            for shard in {row.key >> COUNTER_BITS for row in commit.messages}:
                self._seen_up_to[shard] = commit.head.time
            self._forget_old()

    def _is_counted(self, commit: Any) -> bool:
        """By `others`, which may find a commit of ours before it is noted. Else it is noted."""
        followed, version = self._followed.get(commit.shard), commit.head.version
        if followed is None or not commit.committed:
            return False
        ours = self._ours.setdefault(commit.shard, set())
        if version <= followed:
            return True
        if version == followed + 1 and not ours:
            self._followed[commit.shard] = version
        elif len(ours) < _MOST_NOTED:
            ours.add(version)
        else:
            # Nobody has looked for long: what others have committed until here is left out.
            ours.clear()
            self._followed[commit.shard] = version
        return False

    def followed(self) -> dict[int, tuple[int, frozenset[int]]]:
        """By shard: the version up to which all is counted, and those beyond it which are."""
        with self._lock:
            return {shard: (it, frozenset(self._ours.get(shard, ()))) for shard, it in self._followed.items()}

    def others(self, shard: int, commits: Iterable[Any], reached: int) -> None:
        """What others have committed, up to a version; see `gateway.queries.commits`."""
        with self._lock:
            ours = self._ours.setdefault(shard, set())
            followed = self._followed[shard]
            for commit in commits:
                if commit.version > followed and commit.version not in ours:
                    self._count_others(commit)
            self._followed[shard] = max(followed, reached)
            ours -= {version for version in ours if version <= reached}
            self._forget_old()

    def _count_others(self, commit: Any) -> None:
        """A verdict that a later commit has changed is counted with that one."""
        for row in commit.rows:
            if row.published_at == commit.at:
                self._published[row.published_at // _MINUTE_US] += 1
            if row.decided_at == commit.at or (row.key in commit.expired and row.verdict in _BY_DEADLINE):
                self._decide(row)

    def _count(self, row: Any, seen_up_to: int, is_new: bool = False) -> None:
        """A row is written again for other reasons than a verdict."""
        if row.published_at > seen_up_to:
            self._published[row.published_at // _MINUTE_US] += 1
        if is_new or row.decided_at > seen_up_to:
            self._decide(row)

    def _decide(self, row: Any) -> None:
        self._decided.setdefault(row.decided_at // _MINUTE_US, Counter())[row.verdict, row.reason] += 1

    def _forget_old(self) -> None:
        kept = max(self._decided, default=0) - MINUTES
        for counted in (self._decided, self._published):
            for minute in [minute for minute in counted if minute < kept]:
                del counted[minute]

    def minutes(self, now: int) -> list[Minute]:
        """The last hour, oldest first; the last one is not over yet."""
        last = now // _MINUTE_US
        with self._lock:
            return [
                Minute(minute * _MINUTE_US, self._published[minute], Counter(self._decided.get(minute, {})))
                for minute in range(last - MINUTES + 1, last + 1)
            ]
