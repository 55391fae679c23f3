"""The jobs that can be activated, by tenant and type, oldest first.

New jobs come in the order of their keys; one that returns (its worker failed or took too long) keeps its old key, so
it is sorted in beside them. Nothing here decides anything.
"""

from bisect import insort
from collections.abc import Iterator
from heapq import merge
from itertools import islice


class _Queue:
    __slots__ = ("fresh", "returned")

    def __init__(self) -> None:
        self.fresh: dict[int, None] = {}
        self.returned: list[int] = []

    def __iter__(self) -> Iterator[int]:
        return merge(self.fresh, self.returned) if self.returned else iter(self.fresh)


class JobIndex:
    __slots__ = ("_queues",)

    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], _Queue] = {}

    def oldest(self, tenant_id: str, type_: str, limit: int) -> list[int]:
        queue = self._queues.get((tenant_id, type_))
        return [] if queue is None else list(islice(queue, limit))

    def add(self, tenant_id: str, type_: str, key: int) -> None:
        queue = self._queues.get((tenant_id, type_))
        if queue is None:
            queue = self._queues[tenant_id, type_] = _Queue()
        queue.fresh[key] = None

    def add_again(self, tenant_id: str, type_: str, key: int) -> None:
        queue = self._queues.setdefault((tenant_id, type_), _Queue())
        insort(queue.returned, key)

    def remove(self, tenant_id: str, type_: str, key: int) -> None:
        place = (tenant_id, type_)
        queue = self._queues.get(place)
        if queue is None:
            return
        if key in queue.fresh:
            del queue.fresh[key]
        elif key in queue.returned:
            queue.returned.remove(key)
        if not queue.fresh and not queue.returned:
            del self._queues[place]
