"""The shards of a store as one explanation reads them: each is opened once, when it is needed, and closed at the end.

They are read as last committed, each at an instant of its own; nothing is written.
"""

from contextlib import ExitStack, closing
from typing import Self

from conjoin.errors import ConjoinError
from conjoin.store.port import ShardSnapshot, Store


class ShardViews:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.indexes = range(store.facts.shards)
        self._open: dict[int, ShardSnapshot | None] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.clear()
        self._stack.close()

    def of(self, index: int) -> ShardSnapshot | None:
        """None where it cannot be read, and lists go on without it."""
        if index not in self._open:
            reader = self._stack.enter_context(closing(self.store.shard(index).reader()))
            try:
                self._open[index] = self._stack.enter_context(reader.begin())
            except ConjoinError:
                if not self.store.lists_go_on:
                    raise
                self._open[index] = None
        return self._open[index]

    def all(self) -> list[ShardSnapshot]:
        """Those that can be read."""
        return [it for it in map(self.of, self.indexes) if it is not None]
