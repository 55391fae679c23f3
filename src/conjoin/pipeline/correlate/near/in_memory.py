"""Near misses of a small run, without Spark: the same few who wait meet the same messages, and nothing else does."""

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from conjoin.kernel.policies import Policies
from conjoin.kernel.verdicts.similar_keys import folded
from conjoin.kernel.verdicts.verdicts import FOR_WANT_OF_RECEIVERS
from conjoin.pipeline.correlate.fold.rows import DEFAULT_TENANT
from conjoin.pipeline.correlate.near.meeting import (
    MOST_AWAITED,
    FirstWaiting,
    Left,
    NearBatch,
    met_by,
    near_row,
)
from conjoin.pipeline.correlate.results import IDENTITY, INSTANT, arrow_types

MOST_READ, MOST_HELD = 5_000_000, 300_000
"""More verdicts than the first are not read here, and more leftovers and waiting subscriptions than the second are not
held: Spark looks at those."""

BUSINESS_KEY = "business_key"
COLUMNS = (*IDENTITY, "business_id", "verdict", "reason", "detail", "decided_at")
"""Of the messages, as far as they have them."""

Met = tuple[bool, FirstWaiting]
"""Is the form that of its key without the prefix?"""


def near_misses(
    verdicts: Iterable[pa.RecordBatch], opened: pa.Table, policies: Policies
) -> Iterator[tuple[pa.RecordBatch, dict[str, int]]]:
    """Of each batch the rows of the table, and how many messages differ in what."""
    reasons = pa.array(sorted(FOR_WANT_OF_RECEIVERS))
    waiting = _waiting(opened)
    for batch in verdicts:
        left = batch.filter(pc.is_in(batch.column("reason"), value_set=reasons))
        if left.num_rows:
            yield _near_of(left, waiting, policies)


def _near_of(
    left: pa.RecordBatch, waiting: "WaitingByForm", policies: Policies
) -> tuple[pa.RecordBatch, dict[str, int]]:
    own = dict(zip(left.schema.names, left.columns, strict=True))
    for name, kind in arrow_types(IDENTITY).items():
        own.setdefault(name, pa.nulls(left.num_rows, kind))
    found = NearBatch()
    texts = {name: _texts(own.get(name), left.num_rows) for name in ("name", "correlation_key", "business_id")}
    tenants = _texts(own["tenant_id"], left.num_rows, DEFAULT_TENANT)
    by_business = {name: policies.of(name).match == BUSINESS_KEY for name in set(texts["name"])}
    names = {name: folded(name) for name in by_business}
    decided_at = own["decided_at"].cast(INSTANT).cast(pa.int64()).to_pylist()
    for row, (tenant, name) in enumerate(zip(tenants, texts["name"], strict=True)):
        key = texts["business_id" if by_business[name] else "correlation_key"][row]
        if met := waiting.near(tenant, names[name], key, name):
            about = (own["reason"][row].as_py(), decided_at[row], own["detail"][row].as_py())
            found.add(row, near_row(Left(tenant, name, key, *about), met))
    return found.finished(own), found.counts


class WaitingByForm:
    """By form: the first few keys of it, and whether one of them is a whole form."""

    def __init__(self, waiting: Collection[FirstWaiting]) -> None:
        self._waiting = waiting
        self._tenants = {one.tenant for one in waiting}
        names = {name: folded(name) for name in {one.name for one in waiting}}
        self._few: dict[tuple[str, str], dict[str, list[Met]]] = {}
        for one in waiting:
            by_form = self._few.setdefault((one.tenant, names[one.name]), {})
            same, rest = met_by(one.key, sent=False)
            for form in same:
                by_form.setdefault(form, []).append((False, one))
            if rest:
                by_form.setdefault(rest, []).append((True, one))
        for by_form in self._few.values():
            for form, some in by_form.items():
                if len(some) > 1:
                    by_form[form] = sorted(some)[:MOST_AWAITED]

    @cached_property
    def _anywhere(self) -> dict[tuple[str, str], list[FirstWaiting]]:
        """By the very name and key, whatever the tenant: looked into only where there are several."""
        found: dict[tuple[str, str], list[FirstWaiting]] = {}
        for one in self._waiting:
            found.setdefault((one.name, one.key), []).append(one)
        return {place: sorted(some)[:MOST_AWAITED] for place, some in found.items()}

    def near(self, tenant: str, name: str, key: str, exact: str) -> list[FirstWaiting]:
        """`exact`: the name as it is."""
        by_form = self._few.get((tenant, name), {})
        same, rest = met_by(key, sent=True)
        met = [one for form in same for _, one in by_form.get(form, ())]
        if self._tenants - {tenant}:
            met += self._anywhere.get((exact, key), ())
        without_prefix = by_form.get(rest, []) if rest else []
        # None of them is a whole form: whoever lacks a prefix himself differs in it.
        if without_prefix and without_prefix[0][0]:
            without_prefix = []
        return [*met, *(one for _, one in without_prefix)]


def _waiting(opened: pa.Table) -> WaitingByForm:
    names = ["subscription_id", "process_id", "instance_id", "element_id"]
    columns = [opened["opened_at"].cast(pa.int64()).to_pylist(), *(opened[name].to_pylist() for name in names)]
    tenants = _texts(opened["tenant_id"], opened.num_rows, DEFAULT_TENANT)
    keys = _texts(opened["correlation_key"], opened.num_rows)
    firsts: dict[tuple[str, str, str], FirstWaiting] = {}
    columns += [opened["name"].to_pylist(), keys, tenants]
    for one in map(FirstWaiting._make, zip(*columns, strict=True)):
        place = (one.tenant, one.name, one.key)
        known = firsts.setdefault(place, one)
        if one < known:
            firsts[place] = one
    return WaitingByForm(list(firsts.values()))


def _texts(column: pa.ChunkedArray | pa.Array | None, rows: int, default: str = "") -> list[str]:
    """Whole numbers as their text."""
    if column is None:
        return [default] * rows
    return [default if text is None else text for text in column.cast(pa.string()).to_pylist()]
