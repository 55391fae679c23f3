"""What may follow from one request: so many steps, so many bytes, so much time of the processor.

Whoever exceeds one of these is given up, with nothing of it done, before it takes the memory or the time of others.
Bytes are estimated from what was decided: events, instances, variables that were written. Time is that of the thread.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from time import thread_time
from typing import Any

from conjoin.errors import EndlessRequest
from conjoin.kernel.process.events import InstanceCreated, ResultKept

CHECK_EVERY = 64
"""Steps; and whenever a step ends so much later than the last check:"""
LONGEST_UNCHECKED_S = 0.5
MOST_BYTES = 128 * 1024 * 1024
MOST_CPU_S = 5.0
_STEP_BYTES = 150
_EVENT_BYTES = 120
_INSTANCE_BYTES = 900
_LOOKED_AT = 8
_DEPTH = 4


class Consequences:
    """Those of one request."""

    def __init__(self, journal: Sequence[tuple[Any, Sequence[Any]]]) -> None:
        self._journal = journal
        self._seen = len(journal)
        self._began = thread_time()
        self._bytes = 0

    def check(self, steps: int) -> None:
        for _, decided in islice(self._journal, self._seen, None):
            self._bytes += _STEP_BYTES + sum(map(_weight, decided))
        self._seen = len(self._journal)
        if self._bytes > MOST_BYTES:
            raise EndlessRequest(steps, f"{self._bytes // 1024 // 1024:,} MB of consequences")
        if thread_time() - self._began > MOST_CPU_S:
            raise EndlessRequest(steps, f"{MOST_CPU_S:g} seconds of work")


def _weight(event: Any) -> int:
    variables = event.value if type(event) is ResultKept else getattr(event, "variables", None)
    weight = _INSTANCE_BYTES if type(event) is InstanceCreated else _EVENT_BYTES
    return weight + _size(variables, _DEPTH) if variables else weight


def _size(value: Any, depth: int) -> int:
    """About as many bytes as it has as JSON; of what is long, a few items stand for all."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if not depth or not isinstance(value, (Mapping, list, tuple)) or not value:
        return 16
    items = value.values() if isinstance(value, Mapping) else value
    looked_at = [_size(item, depth - 1) for item in islice(items, _LOOKED_AT)]
    if len(value) > _LOOKED_AT:
        return len(value) * (sum(looked_at) // len(looked_at) + 4)
    return sum(looked_at) + 4 * len(value)
