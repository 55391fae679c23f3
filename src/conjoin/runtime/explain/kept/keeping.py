"""Keeping evidence behind the commits: a server looks what is near to the messages that were lost just now.

The newest first, and at most a small share of a core: it rests so many times what it has worked. What was decided some
minutes ago is left alone: what is near now is not what was near then. So what it did not get to has no evidence.
"""

from collections.abc import Callable, Iterator
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
AT_ONCE = 8
_LOOKED_AT = 200
EVERY_S = 1.0


class KeepingEvidence:
    """For one thread."""

    def __init__(self, broker: Broker, rest: Callable[[float], None]) -> None:
        """`rest`: for so many seconds, or until it is to stop."""
        self._broker = broker
        self._rest = rest
        self._shards: list[ShardStore] = [broker.store.shard(index).reader() for index in range(broker.shard_count)]

    def round(self) -> None:
        """What was noted, then some of the newest. An error about one shard or message keeps none from the others."""
        failed: list[Exception] = []
        began = thread_time()
        evidence.keep_noted(self._broker)
        for key in list(islice(self._newest(failed), AT_ONCE)):
            try:
                self._look(key)
            except Exception as error:  # noqa: BLE001 - the others have nothing to do with it
                failed.append(error)
            self._rest((thread_time() - began) * (1 / SHARE - 1))
            began = thread_time()
        if failed:
            raise failed[0]

    def _newest(self, failed: list[Exception]) -> Iterator[int]:
        """Of each shard and verdict in turn."""
        lists: list[list[int]] = []
        since = self._broker.now - WITHIN_US
        for shard in self._shards:
            try:
                with shard.begin() as snapshot:
                    lists += [snapshot.newest_lost(verdict, since, _LOOKED_AT) for verdict in LOST]
            except Exception as error:  # noqa: BLE001 - the other shards have nothing to do with it
                failed.append(error)
        return (key for key in chain.from_iterable(zip_longest(*lists)) if key is not None)

    def _look(self, key: int) -> None:
        now = self._broker.now
        try:
            found = explain(self._broker, key)
        except Exception:  # it would fail again in the next round, and keep others from theirs
            self._keep(key, EvidenceRow(key, now, evidence.NOTHING_KEPT, 0, 0))
            raise
        row = None if isinstance(found, Refusal) else evidence.row_of(found)
        if row is not None and not isinstance(found, Refusal) and found.decided_at >= now - WITHIN_US:
            evidence.keep(self._broker, [(found.message.correlation_key, row)])

    def _keep(self, key: int, row: EvidenceRow) -> None:
        """Wherever the message is: elsewhere nothing is written."""
        for shard in self._shards:
            shard.keep_evidence([row])

    def close(self) -> None:
        for shard in self._shards:
            shard.close()
