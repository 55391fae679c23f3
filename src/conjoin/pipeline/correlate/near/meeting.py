"""What a message that nobody took and those who wait on a similar key say of each other, as rows of `near_misses`.

The kernel says what a near miss is and which comes first (`kernel/verdicts`). Here is only how rows meet: by their
tenant, their name without case and blanks, and a form of their key, or by the same key in another tenant.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from conjoin.kernel.instants import elapsed_ms
from conjoin.kernel.verdicts import ranking
from conjoin.kernel.verdicts.nearest import nearest
from conjoin.kernel.verdicts.similar_keys import Awaited, folded, forms_of_folded, other_key
from conjoin.kernel.verdicts.slips import halves_awaited, halves_sent
from conjoin.pipeline.correlate.fold.detail import encode
from conjoin.pipeline.correlate.results import IDENTITY, INSTANT, NEAR_MISS

MOST_AWAITED = 5
"""So many keys are kept of those with one form: whole forms first, then by the time of the first who waits."""

ANYWHERE = ""
"""In place of a tenant, for those who meet by the very same name and key."""
TIME, TENANT = "time", "tenant"
"""Where not the keys differ."""
_KEPT_TOO_SHORT = frozenset({"ttl_zero", "nobody_waited"})
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
    tenant: str

    @property
    def who(self) -> dict[str, Any]:
        return {"process": self.process_id, "instance": self.instance_id, "element": self.element_id}

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


class Left(NamedTuple):
    """A message that nobody took, as far as it matters here."""

    tenant: str
    name: str
    key: str
    reason: str
    decided_at: int
    detail: str


class MetBy(NamedTuple):
    """By what the keys of a message and of somebody who waits can meet: any of `same`; its rest and another's whole."""

    same: list[str]
    rest: str | None


def met_by(key: str, sent: bool) -> MetBy:
    """Nothing for a key without content."""
    plain = folded(key)
    whole, rest, numbered = forms_of_folded(plain)
    if not whole:
        return MetBy([], None)
    same = [whole] if numbered is None else [whole, numbered]
    return MetBy(same + (halves_sent if sent else halves_awaited)(plain), rest)


Found = list[tuple[dict[str, Any], str, FirstWaiting]]
"""A near miss, in what it differs, and who waits."""


def near_row(left: Left, waiting: Collection[FirstWaiting]) -> NearRow | None:
    """None: on a closer look nobody is near."""
    in_order = sorted(set(waiting), key=lambda one: (one.opened_at, one.subscription_id, one.name, one.key))
    found = _came_later(left, in_order) or _elsewhere(left, in_order) or _nearly(left, in_order)
    if not found:
        return None
    told: dict[str, Any] = msgspec.json.decode(left.detail)
    misses = ranking.told([*told.get("near_misses", ()), *(miss for miss, _, _ in found)])
    _, differs, who = found[0]
    text = encode(told | {"near_misses": misses})
    by = who.subscription_id, who.process_id, who.instance_id, who.element_id
    return NearRow(text, differs, who.name, who.key, *by)


def _came_later(left: Left, waiting: Sequence[FirstWaiting]) -> Found:
    """With the very same name and key, after it was gone; where only a longer time to live was missing."""
    if left.reason not in _KEPT_TOO_SHORT:
        return []
    return [
        ({"kind": "expired_before", "late_ms": elapsed_ms(left.decided_at, one.opened_at), **one.who}, TIME, one)
        for one in waiting
        if (one.tenant, one.name, one.key) == (left.tenant, left.name, left.key) and one.opened_at > left.decided_at
    ][:1]


def _elsewhere(left: Left, waiting: Sequence[FirstWaiting]) -> Found:
    return [
        ({"kind": "other_tenant", "tenant": one.tenant, **one.who}, TENANT, one)
        for one in waiting
        if (one.name, one.key) == (left.name, left.key) and one.tenant != left.tenant
    ][:1]


def _nearly(left: Left, waiting: Sequence[FirstWaiting]) -> Found:
    by_awaited = {
        one.awaited: one for one in waiting if one.tenant == left.tenant and folded(one.name) == folded(left.name)
    }
    found = [
        (other_key(left.name, left.key, awaited, differs), differs, by_awaited[awaited])
        for differs, awaited in nearest(left.key, by_awaited, lambda _: ())
    ]
    return sorted(found, key=lambda it: ("name" in it[0], ranking.place_of(it[0])))


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
