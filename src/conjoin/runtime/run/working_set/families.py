"""Families: an instance is loaded with those that called it, and without the others that these have called.

What ends, fails or throws concerns its callers, up to the outermost; only whoever ends others by force needs them,
and asks for each. Invariant: whoever called an instance that is loaded is loaded, too.
"""

from collections.abc import Callable, Iterable

from conjoin.kernel.process import ProcessState
from conjoin.kernel.process.state import Instance
from conjoin.runtime.run.working_set.elements_by_key import instances_with_elements
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import InstanceRow

_FEW = 8
"""So many that were called are looked up one by one; whoever ends more of them ends all, as a rule."""


class LoadedState(ProcessState):
    """The part of a shard's state that is loaded; an instance that was called is fetched when it is asked for."""

    __slots__ = ("_asked", "fetch")

    def __init__(self, *known: object) -> None:
        super().__init__(*known)  # type: ignore[arg-type]
        self._asked: set[int] = set()
        self.fetch: Callable[[Iterable[int]], None]

    def instance(self, key: int) -> Instance | None:
        if key and key not in self.elements and key not in self._asked:
            self._asked.add(key)
            self.fetch([key] if len(self._asked) <= _FEW else self._called())
        return super().instance(key)

    def _called(self) -> list[int]:
        called = [it.work_key for it in self.elements.values() if it.work_key and it.work_key not in self.jobs]
        self._asked.update(called)
        return called


def callers_of(rows: Iterable[InstanceRow], state: ProcessState, snapshot: ShardSnapshot) -> list[int]:
    """Instances between these and the outermost ones that are not loaded yet."""
    missing = [row.parent_key for row in rows if row.parent_key and row.parent_key not in state.elements]
    return instances_with_elements(snapshot, list(dict.fromkeys(missing))) if missing else []
