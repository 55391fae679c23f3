"""Placement: the shard of a correlation key, and where a new instance lives.

The hash is Zeebe's: the 31-polynomial over the UTF-8 bytes, wrapped to signed 32 bits; so a client that knows Zeebe's
partitions knows ours. An instance is put where its first message will arrive, so that it rarely leaves its shard.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from conjoin.kernel.coupling import Order
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import key_of_rank
from conjoin.kernel.plan import MessageDefinition, Plan, value_or_null
from conjoin.kernel.process import commands as c
from conjoin.kernel.process.rules.catching import key_text
from conjoin.kernel.storable import unstorable_text
from conjoin.runtime.engine.key_homes import Generation, KeyHomes

_LOOKED_AT = 10
"""Each key is an expression, and may take as long as one may."""


def hash_of(key: str) -> int:
    value = 0
    for byte in key.encode():
        value = value * 31 + (byte - 256 if byte > 127 else byte) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def shard_of(key: str, shards: int) -> int:
    """The remainder of Java: towards zero, so its absolute value is that of the absolute hash."""
    return abs(hash_of(key)) % shards if shards > 1 else 0


def home_of(plan: Plan, variables: Mapping[str, Any], at: int, number: int, shards: int) -> int:
    """The shard of the first message key that the variables determine already, else of the id and a running number."""
    if shards == 1:
        return 0
    for wait in plan.waits[:_LOOKED_AT]:
        if isinstance(wait.event, MessageDefinition) and wait.event.key is not None:
            key = key_text(value_or_null(wait.event.key, variables, at))
            if key is not None and unstorable_text(key) is None:
                return shard_of(key, shards)
    return shard_of(f"{plan.process_id}{number}", shards)


@lru_cache
def _first_homes(shards: int) -> KeyHomes:
    """While the number of shards has never changed."""
    return KeyHomes([Generation(0, shards)])


class Placement:
    """Where orders go, of so many shards."""

    def __init__(self, shards: int, definitions: Definitions, homes: KeyHomes | None = None) -> None:
        self.shards = shards
        self.homes = homes or _first_homes(shards)
        self.shard_of_record = self.homes.shard_of_record
        self._definitions = definitions

    def receivers(self, sender: int, order: Order, number: int) -> list[tuple[int, Order]]:
        """The shards that an order concerns, each with its own; `number` spreads instances that nothing places.

        A signal goes to every shard, and exactly one of them starts processes by it.
        """
        if isinstance(order, c.BroadcastSignal) and order.starts:
            elsewhere = replace(order, starts=False)
            return [(shard, order if shard == sender else elsewhere) for shard in range(self.shards)]
        return [(self._receiver(sender, order, number), order)]

    def _receiver(self, sender: int, order: Order, number: int) -> int:
        if isinstance(order, c.ForKey):
            return shard_of(order.key, self.shards)
        if isinstance(order, (c.DeliverMessage, c.RefuseSubscription)):
            return self.shard_of_record(key_of_rank(order.subscription.rank))
        if isinstance(order, c.StartInstance) and not order.key and not order.parent_key:
            plan = self._definitions.by_key[order.definition_key].plan
            return home_of(plan, order.variables, order.at, number, self.shards)
        return sender
