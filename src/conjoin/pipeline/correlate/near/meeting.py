"""What a message that nobody took and those who wait on a similar key say of each other, as rows of `near_misses`.

The kernel says what a near miss is (`kernel/verdicts/similar_keys.py`). Here is only how rows meet: by their tenant,
their name without case and blanks, and a form of their key; and how many of those who wait a message is shown.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from conjoin.kernel.verdicts.near_misses import MOST, closeness
from conjoin.kernel.verdicts.similar_keys import Awaited, almost
from conjoin.pipeline.correlate.fold.detail import encode
from conjoin.pipeline.correlate.results import IDENTITY, INSTANT, NEAR_MISS

MOST_AWAITED = 5
"""So many keys are kept of those with one form: whole forms first, then by the time of the first who waits."""

TOLD = ("verdict", "reason", "detail", "decided_at")


class FirstWaiting(NamedTuple):
    """The first of those who wait with a name and key. In the order in which they are shown."""

    opened_at: int
    subscription_id: str
    process_id: str | None
    instance_id: str | None
    element_id: str | None
    name: str
    key: str

    @property
    def awaited(self) -> Awaited:
        return Awaited(self.name, self.key, self.process_id, self.instance_id, self.element_id)


class NearRow(NamedTuple):
    """What is known of a message beyond its own columns; in the order of `NEAR_MISS`."""

    detail: bytes
    differs: str
    waiting_name: str
    waiting_key: str
    subscription_id: str
    process_id: str | None
    instance_id: str | None
    element_id: str | None


def near_row(name: str, key: str, detail: str, waiting: Collection[FirstWaiting]) -> NearRow | None:
    """None: on a closer look nobody is near."""
    in_order = sorted(set(waiting), key=lambda one: (one.opened_at, one.subscription_id, one.name, one.key))
    by_awaited = {one.awaited: one for one in in_order}
    found = almost(name, key, list(by_awaited))
    if not found:
        return None
    told: dict[str, Any] = msgspec.json.decode(detail)
    misses = sorted([*told.get("near_misses", ()), *(miss for miss, _ in found)], key=closeness)[:MOST]
    first, who = found[0][0], by_awaited[found[0][1]]
    text = encode(told | {"near_misses": misses})
    by = who.subscription_id, who.process_id, who.instance_id, who.element_id
    return NearRow(text, first["differs"], who.name, who.key, *by)


class NearBatch:
    """Rows of `near_misses` of one batch of messages, and how many differ in what."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._rows: list[NearRow] = []
        self._taken: list[int] = []

    def add(self, row: int, near: NearRow | None) -> None:
        """`row`: of the batch."""
        if near is not None:
            self._rows.append(near)
            self._taken.append(row)
            self.counts[near.differs] = self.counts.get(near.differs, 0) + 1

    def finished(self, own: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """`own`: columns of the batch, of which those of the table are taken."""
        rows = pa.array(self._taken, pa.int64())
        columns = {name: own[name].take(rows) for name in (*IDENTITY, *TOLD)}
        columns["decided_at"] = columns["decided_at"].cast(INSTANT)
        beside: Sequence[Any] = list(zip(*self._rows, strict=True)) or [()] * len(NearRow._fields)
        for name, values in zip(NearRow._fields, beside, strict=True):
            texts = [value.decode() if isinstance(value, bytes) else value for value in values]
            columns[name] = pa.array(texts, pa.string())
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


assert NearRow._fields[1:] == tuple(NEAR_MISS)
