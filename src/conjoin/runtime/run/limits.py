"""How much may follow from one request: steps, bytes and processor time on a shard, and ways from shard to shard.

A request that exceeds one of these is given up, with nothing of it done, before it takes the memory or the time of
others. Bytes are estimated from what was decided: events, instances, variables that were written. Time is that of the
thread. Mail to another shard carries what is left of an allowance, so that a circle through several of them ends: a way
costs one; that of a signal or a start costs more, and the steps that led to it, too. Signals share what is left, and so
do starts, as they multiply. Mail of earlier versions carries nothing.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from time import thread_time
from typing import Any

from conjoin.errors import EndlessRequest
from conjoin.kernel.correlation.events import Event
from conjoin.kernel.coupling import Order
from conjoin.kernel.process import commands as c
from conjoin.kernel.process.events import InstanceCreated, ResultKept
from conjoin.kernel.process.step import Item
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.codec.orders import Request, written_order
from conjoin.runtime.engine.shard import Decided

CHECK_EVERY = 64
"""Steps; and whenever a step ends this much later than the last check:"""
LONGEST_UNCHECKED_S = 0.5
MOST_BYTES = 128 * 1024 * 1024
MOST_CPU_S = 5.0
_STEP_BYTES = 150
_EVENT_BYTES = 120
_INSTANCE_BYTES = 900
_LOOKED_AT = 8
_DEPTH = 4
MOST = 1_000_000
"""An instance that takes 300,000 kept messages from another shard in a loop needs all of it."""
SIGNAL_COST = 50
FEWEST_STEPS = 1_000
"""On the shard where it arrives, however little is left."""
_MARK = '["Left",'


class Consequences:
    """Those of one request."""

    def __init__(self, journal: Sequence[tuple[Order, Decided]]) -> None:
        self._journal = journal
        self._seen = len(journal)
        self._began = thread_time()
        self._bytes = 0

    def check(self, steps: int) -> None:
        for _, decided in islice(self._journal, self._seen, None):
            self._bytes += _STEP_BYTES + sum(map(_weight, decided))
        self._seen = len(self._journal)
        if self._bytes > MOST_BYTES:
            raise EndlessRequest(steps, f"{self._bytes // 1024 // 1024:,} MB of consequences")
        if thread_time() - self._began > MOST_CPU_S:
            raise EndlessRequest(steps, f"{MOST_CPU_S:g} seconds of work")


def _weight(event: Event | Item) -> int:
    variables = event.value if type(event) is ResultKept else getattr(event, "variables", None)
    weight = _INSTANCE_BYTES if type(event) is InstanceCreated else _EVENT_BYTES
    return weight + _size(variables, _DEPTH) if variables else weight


def _size(value: Any, depth: int) -> int:
    """About as many bytes as it has as JSON; of what is long, a few items stand for all."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if not depth or not isinstance(value, (Mapping, list, tuple)) or not value:
        return 16
    items = value.values() if isinstance(value, Mapping) else value
    looked_at = [_size(item, depth - 1) for item in islice(items, _LOOKED_AT)]
    if len(value) > _LOOKED_AT:
        return len(value) * (sum(looked_at) // len(looked_at) + 4)
    return sum(looked_at) + 4 * len(value)


def shares(left: int, orders: Sequence[Request], shards: int, steps: int = 0) -> list[int]:
    """What each order takes along; raises where nothing is left for it."""
    starts = sum(type(order) is c.StartInstance for order in orders)
    copies = sum(type(order) is c.BroadcastSignal for order in orders)
    cost = SIGNAL_COST + steps if starts or copies else 1
    if left < cost:
        raise EndlessRequest(MOST // SIGNAL_COST if starts or copies else MOST, "as many ways from shard to shard")
    share = {c.StartInstance: max(starts, 1), c.BroadcastSignal: max(copies // max(shards - 1, 1), 1)}
    return [(left - cost) // share[type(it)] if type(it) in share else left - 1 for it in orders]


def written_mail(order: Request, left: int) -> str:
    text = json_text(written_order(order))
    return text if left >= MOST - 1 else f"{_MARK}{left},{text}]"


def order_text(mail: str) -> str:
    """The order of a mail as JSON."""
    return mail.partition(",")[2].partition(",")[2][:-1] if mail.startswith(_MARK) else mail


def left_of(mail: str) -> int:
    return int(mail[len(_MARK) :].partition(",")[0]) if mail.startswith(_MARK) else MOST - 1
