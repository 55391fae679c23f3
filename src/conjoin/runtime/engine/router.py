"""The router: what a shard hands on goes to the shard that it concerns.

A correlation key has one shard; what answers an element goes to the shard in its key; a signal goes to every shard,
and exactly one of them starts processes by it. In memory all shards share one queue, so that several of them do what
one would do, as far as orders between keys are defined at all.
"""

from collections import deque
from collections.abc import Sequence
from itertools import count

from conjoin.errors import EndlessRequest
from conjoin.kernel.coupling import Order
from conjoin.runtime.engine.placement import Placement
from conjoin.runtime.engine.shard import MOST_STEPS, Shard


class Router:
    def __init__(self, shards: Sequence[Shard], placement: Placement) -> None:
        self._shards = shards
        self._placement = placement
        self._sent = 0
        self._queue: deque[tuple[Shard, Order]] = deque()

    def send(self, sender: Shard, order: Order) -> None:
        self._sent += 1
        for index, sent in self._placement.receivers(sender.index, order, self._sent):
            receiver = self._shards[index]
            # A key handed out later must not look older than what led to it.
            receiver.keys.follow(sender.keys.counter)
            self._queue.append((receiver, sent))

    def drain(self) -> None:
        for steps in count():
            if not self._queue:
                break
            if steps == MOST_STEPS:
                self._queue.clear()
                raise EndlessRequest(steps)
            shard, order = self._queue.popleft()
            shard.carry_out(order)
        for shard in self._shards:
            shard.settle()
