"""Placement: the shard of a correlation key, where a new instance lives, and the shard of a record by its key.

The hash of a correlation key is Zeebe's: the 31-polynomial over the UTF-8 bytes, wrapped to signed 32 bits; so a client
that knows Zeebe's partitions knows ours. An instance is put where its first message will arrive, so that it rarely
leaves its shard. The upper bits of a record's key are a number that only one shard hands out. With each change of the
number of shards (a generation) all shards get new, larger numbers: so what is younger still has the larger key, on
whichever shards the two were made. What an old number made is where that shard was put at each change since: it stays
while there are so many shards, else it goes to shard mod N.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from conjoin.errors import StoreDamaged
from conjoin.kernel.coupling import Order
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import key_of_rank, shard_of_key
from conjoin.kernel.plan import MessageDefinition, Plan, value_or_null
from conjoin.kernel.process import commands as c
from conjoin.kernel.process.rules.catching import key_text
from conjoin.kernel.storable import LARGEST_INT64, unstorable_text
from conjoin.store.port import ShardSnapshot, ShardStore
from conjoin.store.rows import PositionRow

if TYPE_CHECKING:
    from conjoin.runtime.engine.shard import Shard

GENERATION = "generation"
"""The source under which generations are noted on each shard of a store that was changed."""
MOST_NUMBERS = 8_000
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
    key = first_key(plan, variables, at)
    return shard_of(f"{plan.process_id}{number}" if key is None else key, shards)


def first_key(plan: Plan, variables: Mapping[str, Any], at: int) -> str | None:
    """The first message key that the variables of a new instance determine already."""
    for wait in plan.waits[:_LOOKED_AT]:
        if isinstance(wait.event, MessageDefinition) and wait.event.key is not None:
            key = key_text(value_or_null(wait.event.key, variables, at))
            if key is not None and unstorable_text(key) is None:
                return key
    return None


class Generation(NamedTuple):
    """So many shards, the first of which hands out keys under the number `first`."""

    first: int
    shards: int


def moved(shard: int, shards: int) -> int:
    """Where the instances of a shard go when there are so many from now on."""
    return shard if shard < shards else shard % shards


class KeyHomes:
    """The shard of every number that was ever handed out."""

    def __init__(self, generations: Sequence[Generation]) -> None:
        self._newest = generations[-1]
        self._homes: list[int] = []
        for generation in generations:
            self._homes = [moved(home, generation.shards) for home in self._homes]
            self._homes += range(generation.shards)

    def shard_of_record(self, key: int) -> int:
        """Negative for keys of the catalog and what no key can be; one that was never made is looked for anywhere."""
        number = shard_of_key(key) if key <= LARGEST_INT64 else -1
        if 0 <= number < len(self._homes):
            return self._homes[number]
        return number if number < 0 else number % self._newest.shards

    def number_of(self, shard: int) -> int:
        return self._newest.first + shard


def homes_in(shard: ShardStore, shards: int) -> KeyHomes:
    """Those of a store with so many shards, as each of its shards knows them."""
    with shard.begin() as snapshot:
        return homes_of(snapshot, shards)


def homes_of(snapshot: ShardSnapshot, shards: int) -> KeyHomes:
    noted = snapshot.position(GENERATION)
    return KeyHomes(read_generations((PositionRow(GENERATION, *row) for row in noted.items()), shards))


def read_generations(positions: Iterable[PositionRow], shards: int) -> tuple[Generation, ...]:
    noted = sorted(row for row in positions if row.source == GENERATION)
    try:
        return tuple(Generation(*map(int, row.position.split())) for row in noted) or (Generation(0, shards),)
    except (TypeError, ValueError):
        raise StoreDamaged("a shard", f"its generations cannot be read: {[row.position for row in noted]}") from None


def written_generations(generations: Sequence[Generation]) -> list[PositionRow]:
    return [PositionRow(GENERATION, f"{number:04}", f"{its[0]} {its[1]}") for number, its in enumerate(generations, 1)]


@lru_cache
def first_homes(shards: int) -> KeyHomes:
    """While the number of shards has never changed."""
    return KeyHomes([Generation(0, shards)])


class Placement:
    """Where orders go."""

    def __init__(self, shards: int, definitions: Definitions, homes: KeyHomes | None = None) -> None:
        self.shards = shards
        self.homes = homes or first_homes(shards)
        self._definitions = definitions

    def hand_on(self, shard: "Shard", outbox: list[tuple[int, Any]], order: Order) -> None:
        """Into the queue of a shard, or its outbox."""
        for receiver, sent in self.receivers(shard.index, order, shard.keys.counter):
            if receiver == shard.index:
                shard.queue.append(sent)
            else:
                outbox.append((receiver, sent))

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
            return self.homes.shard_of_record(key_of_rank(order.subscription.rank))
        if isinstance(order, c.StartInstance) and not order.key and not order.parent_key:
            plan = self._definitions.by_key[order.definition_key].plan
            return home_of(plan, order.variables, order.at, number, self.shards)
        return sender
