"""Ranges: which commits of each shard's log are to be exported next, after those that were.

The log has a block for every commit, without a gap, and its head may have been removed. The block that was exported
last must still be the same one: else the folder holds the events of another store.
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from conjoin.errors import InputError, StoreFailed
from conjoin.pipeline.export.target import Committed
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import open_broker


class CommitRange(NamedTuple):
    """Commits of a shard, both ends among them."""

    shard: int
    first: int
    last: int
    fingerprint: str
    """What the last of them is known by."""

    @property
    def where(self) -> str:
        return f"shard = {self.shard} and version >= {self.first} and version <= {self.last}"


def next_ranges(address: str, exported: Mapping[int, Committed]) -> tuple[list[CommitRange], list[str]]:
    """With notes about commits that are in no log any more and in no export. Raises `InputError` if what was exported
    is not of this store."""
    with closing(open_broker(address)) as broker:
        strange = [shard for shard in exported if shard >= broker.shard_count]
        strange += [shard for shard in range(broker.shard_count) if _is_strange(broker, shard, exported.get(shard))]
        if strange:
            which = f"what was exported of shard {strange[0]} is not of this store"
            raise InputError([f"{which}, or of a time before it was restored or resharded: give another folder"])
        ranges: list[CommitRange] = []
        notes: list[str] = []
        for shard in range(broker.shard_count):
            after = exported[shard].last + 1 if shard in exported else 1
            with broker.post.look(shard) as snapshot:
                last = snapshot.head.version
            first, final = _block(broker, shard, after), _block(broker, shard, last)
            if first is None or final is None:
                continue
            if first.version > after:
                gone = f"commits {after} to {first.version - 1} of shard {shard}"
                notes.append(f"{gone} are not in the log any more: their events are in no export")
            ranges.append(CommitRange(shard, first.version, last, _fingerprint(final)))
        return ranges, notes


def check_still_there(address: str, ranges: Iterable[CommitRange]) -> None:
    """Read while the log was shortened, a range may lack its first commits."""
    with closing(open_broker(address)) as broker:
        for it in ranges:
            first = _block(broker, it.shard, it.first)
            if first is None or first.version != it.first:
                raise StoreFailed(f"the log of shard {it.shard} was shortened while it was exported: run it again")


def _is_strange(broker: Broker, shard: int, exported: Committed | None) -> bool:
    if exported is None:
        return False
    block = _block(broker, shard, exported.last)
    if block is None:
        # The last block of a log is never removed, so this shard has not come so far.
        return True
    return block.version == exported.last and not _fingerprint(block).startswith(exported.fingerprint)


def _block(broker: Broker, shard: int, version: int) -> Any:
    """The block of a commit, or the next that there is."""
    return next(iter(broker.store.shard(shard).log(version - 1, 1)), None)


def _fingerprint(block: Any) -> str:
    return hashlib.sha256(b"%d %d " % (block.version, block.at) + block.block).hexdigest()
