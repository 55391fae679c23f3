"""Gathered: what a walk has said so far, as plain rows, one list for each output.

Every row that comes out of the fold is made here, whether it is written out at once or kept as the answer to all
histories of a pattern.
"""

from collections.abc import Callable
from typing import Any

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation.events import InstanceStarted
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.state import KeySpace, Lock
from conjoin.kernel.instants import ALWAYS
from conjoin.kernel.verdicts.verdicts import parameters, verdict_of
from conjoin.pipeline.correlate.fold.deadlines import LAST_DAY
from conjoin.pipeline.correlate.results import KEPT, LOCKED, OPENED, REMEMBERED

Row = tuple[Any, ...]


class Gathered:
    """Lists of rows; the entries of `references`, `said`, `marks` and `pair_counts` belong together."""

    def __init__(self) -> None:
        self.detail: Callable[[str, dict[str, Any]], Any] = lambda verdict, told: told
        self.base = 0
        """`base | row` names a row of the current batch for as long as its message lives."""
        self.references: list[int] = []
        self.said: list[Row] = []
        self.marks: list[list[str] | None] = []
        self.pair_counts: list[int] = []
        self.pairs: list[Row] = []
        self.kept: dict[str, list[Row]] = {table: [] for table in KEPT}
        self.ends_ignored = 0

    def message(
        self, message: Message, space: KeySpace, as_of: int, catalog: Catalog, other_tenants: tuple[KeySpace, ...]
    ) -> None:
        verdict, reason, decided_at, _ = whole = verdict_of(space, message, as_of, catalog)
        told = parameters(space, message, whole, as_of, catalog, other_tenants)
        stored = message.stored and message.deadline > as_of
        nearest = None if verdict == "correlated" else _nearest(told)
        targets = message.targets
        self.references.append(message.payload)
        self.said.append((verdict, reason, self.detail(verdict, told), decided_at, stored, nearest))
        self.marks.append(list(message.marks) if stored else None)
        self.pair_counts.append(len(targets))
        if targets:
            self.pairs += map(_pair_of, targets)

    def open(self, space: KeySpace, it: Subscription, as_of: int) -> None:
        who = (it.process_id, it.name, space.key, it.opened_at, it.payload, it.key, it.instance_id)
        rest = (it.element_id, it.interrupting, space.tenant_id, it.business_id or None, as_of)
        self.kept[OPENED].append((*who, *rest))

    def lock(self, space: KeySpace, it: Lock) -> None:
        since = None if it.since == ALWAYS else it.since
        self.kept[LOCKED].append((it.process_id, space.key, space.tenant_id, it.instance_id, since))

    def id(self, space: KeySpace, it: Message, until_at: int) -> None:
        until = min(until_at, LAST_DAY)
        self.kept[REMEMBERED].append((it.name, space.key, space.tenant_id, it.message_id, it.published_at, until))

    def end_ignored(self) -> None:
        self.ends_ignored += 1


def _nearest(told: dict[str, Any]) -> str | None:
    """Of what kind the nearest miss is, or whose subscription came next."""
    for miss in told.get("near_misses") or ():
        return str(miss["kind"])
    following = told.get("next_subscription")
    return following and following.get("process")


def _pair_of(target: Any) -> Row:
    if type(target) is InstanceStarted:
        start = target.start
        return ("start", start.process_id, None, target.instance_id, start.element_id, target.at)
    it = target.subscription
    return ("subscription", it.process_id, it.key, it.instance_id, it.element_id, target.at)
