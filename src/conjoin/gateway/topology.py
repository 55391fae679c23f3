"""The topology that clients ask for: one broker, which leads every partition. A partition is a shard, from 1 on."""

from collections.abc import Sequence
from typing import NamedTuple

from conjoin import __version__
from conjoin.runtime.broker import Broker

HOST, PORT = "0.0.0.0", 26501
"""Clients print them, and connect to the gateway that they know already."""


class Topology(NamedTuple):
    version: str
    partitions: Sequence[int]
    """Their ids; each is healthy and led by this broker."""
    host: str
    port: int


def topology_of(broker: Broker) -> Topology:
    return Topology(__version__, range(1, broker.shard_count + 1), HOST, PORT)
