"""Which shards of a served store can be read: lists go on with the others, and the log says which are left out.

Invariant: a record that is asked for by its key is never said to be missing because its shard could not be read.
"""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from conjoin.errors import ConjoinError, StoreDamaged, StoreTooNew

UNREADABLE = (StoreDamaged, StoreTooNew)
"""These stay until somebody mends the shard; anything else may be over when the same list is asked for again."""
_log = logging.getLogger(__name__)


class Readable:
    """For all threads of a process: a dict of its own threads' making, changed one item at a time."""

    def __init__(self) -> None:
        self.broken: dict[int, ConjoinError] = {}
        """By shard: why it could not be read when it was last tried."""

    def failed(self, shard: int, error: ConjoinError) -> None:
        if shard not in self.broken:
            _log.error("lists leave out shard %s: %s", shard, error)
        self.broken[shard] = error

    def answered(self, shard: int) -> None:
        if self.broken.pop(shard, None) is not None:
            _log.warning("shard %s can be read again", shard)


class Looking:
    """One list over all shards."""

    def __init__(self, readable: Readable, where: Mapping[str, Any]) -> None:
        self._readable = readable
        self._keys = where.get("key")
        self._failed: ConjoinError | None = None

    def rows(self, shard: int, rows: Iterator[Any]) -> Iterator[Any]:
        """Those of one shard, as far as they can be read."""
        try:
            yield from rows
        except UNREADABLE as error:
            self._failed = error
            self._readable.failed(shard, error)
        else:
            self._readable.answered(shard)

    def whole(self, found: list[Any]) -> list[Any]:
        """Raises what kept a shard from being read, if a record that was asked for by its key may be there."""
        wanted = len(self._keys) if isinstance(self._keys, tuple) else int(isinstance(self._keys, int))
        if self._failed is not None and len(found) < wanted:
            raise self._failed
        return found
