"""The log: one block a commit, with the requests, when each was carried out, and every event that followed.

A block is JSON, compressed unless it is small: a list of entries, each the request as it was asked, its instant, where
the keys stood, and its events in order. Blocks are only appended; replaying them gives the state again (`replay.py`).
"""

import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from conjoin.runtime.encoding.events import LoggedEvent, read_event
from conjoin.runtime.encoding.json_text import json_bytes, read_json
from conjoin.runtime.encoding.orders import read_order

_FAST = 1
_SMALL_BYTES = 4_096
"""Below this, compressing takes longer than it saves."""


class Entry(NamedTuple):
    """A request, or an order from another shard. `next_key` is where the keys stood when it was carried out."""

    request: Any
    at: int
    next_key: int
    events: list[LoggedEvent]


def block_of(entries: list[Any]) -> bytes:
    text = json_bytes(entries)
    return text if len(text) < _SMALL_BYTES else zlib.compress(text, _FAST)


def read_block(block: bytes) -> Iterator[Entry]:
    text = block if block.startswith(b"[") else zlib.decompress(block)
    for request, at, next_key, events in read_json(text):
        yield Entry(read_order(request), at, next_key, [read_event(event) for event in events])
