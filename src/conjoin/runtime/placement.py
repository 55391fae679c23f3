"""Placement: the shard of a correlation key, and where a new instance lives.

The hash is Zeebe's: the 31-polynomial over the UTF-8 bytes, wrapped to signed 32 bits; so a client that knows Zeebe's
partitions knows ours. An instance is put where its first message will arrive, so that it rarely leaves its shard.
"""

from collections.abc import Mapping
from typing import Any

from conjoin.kernel.plan import MessageDefinition, Plan
from conjoin.kernel.process.catching import key_text


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
    for wait in plan.waits:
        if isinstance(wait.event, MessageDefinition) and wait.event.key is not None:
            key = key_text(wait.event.key(variables, at))
            if key is not None:
                return shard_of(key, shards)
    return shard_of(f"{plan.process_id}{number}", shards)
