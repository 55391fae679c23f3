"""The log: one block a commit, with the requests, when each was carried out, and every event that followed.

A block is JSON, compressed unless it is small: a list of entries, each the request as it was asked, its instant, where
the keys stood, and its events in order. Blocks are only appended; replaying them gives the state again (`replay.py`).
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from conjoin.runtime.codec.events import LoggedEvent, read_event
from conjoin.runtime.codec.json_text import json_bytes, read_json
from conjoin.runtime.codec.orders import read_order
from conjoin.store import tables as t
from conjoin.store.port import Changes, ShardSnapshot
from conjoin.store.rows import LogRow

_FAST = 1
_SMALL_BYTES = 4_096
"""Below this, compressing takes longer than it saves."""
_texts = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Entry(NamedTuple):
    """A request, or an order from another shard. `next_key` is where the keys stood when it was carried out."""

    request: Any
    at: int
    next_key: int
    events: list[LoggedEvent]


def block_of(entries: list[Any]) -> bytes:
    text = json_bytes(entries)
    return text if len(text) < _SMALL_BYTES else zlib.compress(text, _FAST)


def without_requests(snapshot: ShardSnapshot, catalog_version: int) -> Changes:
    """A commit like any other, with a version and an empty block, so nothing else need know of it."""
    head = snapshot.head._replace(version=snapshot.head.version + 1)
    return Changes(head, {t.LOG: [LogRow(head.version, catalog_version, head.time, block_of([]))]})


def read_block(block: bytes) -> Iterator[Entry]:
    for said in read_json(_text_of(block)):
        yield _entry(said)


def raw_entries(block: bytes) -> list[Any]:
    """As they are written, by position: see `Entry`."""
    said: list[Any] = read_json(_text_of(block))
    return said


def read_wanted(block: bytes, is_wanted: Callable[[bytes], bool]) -> Iterator[Entry]:
    """The entries whose text is wanted; the others, a thousand perhaps, stay unread."""
    text = _text_of(block)
    if is_wanted(text):
        for one in _texts(text):
            if is_wanted(bytes(one)):
                yield _entry(read_json(one))


def _text_of(block: bytes) -> bytes:
    return block if block.startswith(b"[") else zlib.decompress(block)


def _entry(said: list[Any]) -> Entry:
    request, at, next_key, events = said
    return Entry(read_order(request), at, next_key, [read_event(event) for event in events])
