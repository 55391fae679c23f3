"""Keeping evidence behind the commits: a server looks what is near to the messages that were lost just now.

The newest first, and at most a small share of a core: it rests so many times what it has worked. What was decided some
minutes ago is left alone: what is near now is not what was near then. So what it did not get to has no evidence.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice, zip_longest
from time import thread_time

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.explain.explain import explain
from conjoin.runtime.explain.explanation import LOST
from conjoin.runtime.explain.kept import evidence
from conjoin.store.port import ShardStore
from conjoin.store.rows import EvidenceRow

WITHIN_US = 180_000_000
SHARE = 0.03
AT_ONCE = 16
_LOOKED_AT = 200
EVERY_S = 1.0


class KeepingEvidence:
    """For one thread."""

    def __init__(self, broker: Broker, rest: Callable[[float], bool | None]) -> None:
        """`rest`: for so many seconds, or until it is to stop, which it answers."""
        self._broker = broker
        self._rest = rest
        self._shards: list[ShardStore] = [broker.store.shard(index).reader() for index in range(broker.shard_count)]

    def round(self) -> None:
        """What was noted, then some of the newest. An error about one shard or message keeps none from the others.

        One transaction a shard: on SQLite each makes a run that has loaded meanwhile load again.
        """
        failed: list[Exception] = []
        found: dict[ShardStore, list[EvidenceRow]] = {}
        began = thread_time()
        evidence.keep_noted(self._broker)
        for shard, key in list(islice(self._newest(failed), AT_ONCE)):
            row = self._seen(key, failed)
            if row is not None:
                found.setdefault(shard, []).append(row)
            if self._rest((thread_time() - began) * (1 / SHARE - 1)):
                break
            began = thread_time()
        for shard, rows in found.items():
            with collected(failed):
                shard.keep_evidence(rows)
        if failed:
            raise failed[0]

    def _newest(self, failed: list[Exception]) -> Iterator[tuple[ShardStore, int]]:
        """Of each shard and verdict in turn."""
        lists: list[list[tuple[ShardStore, int]]] = []
        since = self._broker.now - WITHIN_US
        for shard in self._shards:
            with collected(failed), shard.begin() as snapshot:
                lists += [[(shard, key) for key in snapshot.newest_lost(it, since, _LOOKED_AT)] for it in LOST]
        return (it for it in chain.from_iterable(zip_longest(*lists)) if it is not None)

    def _seen(self, key: int, failed: list[Exception]) -> EvidenceRow | None:
        now = self._broker.now
        with collected(failed):
            found = explain(self._broker, key)
            # It may be gone by now, or have waited too long for its turn.
            if isinstance(found, Refusal) or found.decided_at < now - WITHIN_US:
                return None
            return evidence.row_of(found)
        # It would fail again in the next round, and keep others from theirs.
        return EvidenceRow(key, now, evidence.NOTHING_KEPT, 0, 0)

    def close(self) -> None:
        for shard in self._shards:
            shard.close()


@contextmanager
def collected(failed: list[Exception]) -> Iterator[None]:
    """An error is told when the others have had their turn."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the others have nothing to do with it
        failed.append(error)
