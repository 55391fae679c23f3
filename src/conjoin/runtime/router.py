"""The router: what a shard hands on goes to the shard that it concerns.

A correlation key has one shard; what answers an element goes to the shard in its key; a signal goes to every shard,
and exactly one of them starts processes by it. In memory all shards share one queue, so that several of them do what
one would do, as far as orders between keys are defined at all.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from conjoin.kernel.coupling import Order
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import key_of_rank, shard_of_key
from conjoin.kernel.process import commands as c
from conjoin.runtime.placement import home_of, shard_of
from conjoin.runtime.shard import Shard


class Router:
    def __init__(self, shards: Sequence[Shard], definitions: Definitions) -> None:
        self._shards = shards
        self._definitions = definitions
        self._started = 0
        self._queue: deque[tuple[Shard, Order]] = deque()

    def send(self, sender: Shard, order: Order) -> None:
        if isinstance(order, c.BroadcastSignal) and order.starts:
            for shard in self._shards:
                self._queue.append((shard, order if shard is sender else replace(order, starts=False)))
            return
        receiver = self._shards[self._index_of(sender, order)]
        # A key handed out later must not look older than what led to it.
        receiver.keys.follow(sender.keys.counter)
        self._queue.append((receiver, order))

    def drain(self) -> None:
        while self._queue:
            shard, order = self._queue.popleft()
            shard.carry_out(order)
        for shard in self._shards:
            shard.settle()

    def _index_of(self, sender: Shard, order: Order) -> int:
        if isinstance(order, c.ForKey):
            return shard_of(order.key, len(self._shards))
        if isinstance(order, (c.DeliverMessage, c.RefuseSubscription)):
            return shard_of_key(key_of_rank(order.subscription.rank))
        if isinstance(order, c.StartInstance) and not order.key and not order.parent_key:
            return self._home(order)
        return sender.index

    def _home(self, order: c.StartInstance) -> int:
        """Of an instance that a timer or a signal starts."""
        self._started += 1
        plan = self._definitions.by_key[order.definition_key].plan
        return home_of(plan, order.variables, order.at, self._started, len(self._shards))
