"""Keys: `(shard + 1) << 51 | counter`, so that every record of every shard has a number of its own.

The counter only grows and is part of the shard's state: deciding reads the next free key, and applying an event says
which one it used. A rank is a key turned around, counter first, so that it orders across shards.
"""

from typing import Any, Final, TypeAlias

SubscriptionKey: TypeAlias = Any
"""A key of ours; where tables are correlated, the text that a row has instead. Rules only compare it."""
InstanceId: TypeAlias = Any
"""The same of an instance. A row may name none."""

COUNTER_BITS: Final = 51
_COUNTER_MASK: Final = (1 << COUNTER_BITS) - 1
_SHARD_BITS: Final = 13
_SHARD_MASK: Final = (1 << _SHARD_BITS) - 1


class Keys:
    """The next free key of one shard."""

    __slots__ = ("next", "shard")

    def __init__(self, shard: int) -> None:
        self.number_as(shard)

    def number_as(self, shard: int) -> None:
        """Begin anew under the number of another shard: a change of the number of shards numbers all of them anew."""
        self.shard = shard
        self.next = (shard + 1) << COUNTER_BITS | 1

    def used(self, key: int) -> None:
        if key >= self.next:
            self.next = key + 1

    def take(self) -> int:
        key = self.next
        self.next = key + 1
        return key

    @property
    def counter(self) -> int:
        return self.next & _COUNTER_MASK

    def follow(self, counter: int) -> None:
        """Never hand out a smaller counter than another shard has shown: keys then order across shards too."""
        if counter > self.next & _COUNTER_MASK:
            self.next = (self.shard + 1) << COUNTER_BITS | counter


def shard_of_key(key: int) -> int:
    return (key >> COUNTER_BITS) - 1


def last_key_of(shard: int) -> int:
    """No key of the shard is larger."""
    return (shard + 1) << COUNTER_BITS | _COUNTER_MASK


def rank_of(key: int) -> int:
    """The counter part, then the shard: the order in which waiting elements are served."""
    return (key & _COUNTER_MASK) << _SHARD_BITS | (key >> COUNTER_BITS)


def key_of_rank(rank: int) -> int:
    return (rank & _SHARD_MASK) << COUNTER_BITS | rank >> _SHARD_BITS
