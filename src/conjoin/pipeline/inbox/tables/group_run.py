"""One group of an inbox that is a table, in one run: what has arrived, what was there, and who waits for it.

What is tried, in which order, and what is booked is decided by the rules of the inbox (`kernel/inbox`); this carries it
out. Nothing is read or written here, so a task that is repeated comes to the same rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.inbox import InboxMessage, InboxSettings, book, plan
from conjoin.kernel.inbox.due import what_is_due
from conjoin.kernel.inbox.message import TARGET_ERROR
from conjoin.kernel.inbox.outcomes import Delivered, Expired, Failed, Outcome
from conjoin.kernel.inbox.run import goes_on
from conjoin.pipeline.inbox.tables.columns import (
    DEAD_LETTER,
    TableRow,
    identity_of_row,
    message_of_row,
    row_of_message,
)
from conjoin.pipeline.inbox.tables.waiting import AwaitingSubscription, WhoWaits

CORRELATED, EXPIRED = "correlated", "expired"


class TableRun(NamedTuple):
    """What holds for all groups of a run. `catalog` has the policies of the inbox."""

    settings: InboxSettings
    catalog: Catalog
    now: int


@dataclass(slots=True)
class GroupRows:
    """`kept` is as the last run has left it, `arrived` is new, or came before."""

    waiting: list[AwaitingSubscription] = field(default_factory=list)
    kept: list[TableRow] = field(default_factory=list)
    arrived: list[TableRow] = field(default_factory=list)


def run_group(group: GroupRows, run: TableRun) -> Iterator[TableRow]:
    """The rows of the group as the run leaves them: without duplicates, and without what has been over for long.

    What is read anew each time is only known by its row: one that still arrives stays, or it would be new in the next.
    """
    arrived = {identity_of_row(row) for row in group.arrived}
    kept = (row for row in group.kept if identity_of_row(row) in arrived or not _is_forgotten(row, run))
    rows = [row._replace(outcome=None) for row in kept]
    rows += _without_known(group)
    messages = {row.key: message_of_row(row) for row in rows if row.state != DEAD_LETTER}
    if any(what_is_due(its, run.now, run.settings) for its in messages.values()):
        booked = _Turn(group, run, messages).booked
        rows = [booked.get(row.key, row) for row in rows]
    yield from rows


def _is_forgotten(row: TableRow, run: TableRun) -> bool:
    retention = run.settings.retention
    return retention is not None and row.decided_at is not None and row.decided_at <= run.now - retention * 1_000


def _without_known(group: GroupRows) -> Iterator[TableRow]:
    known = {identity_of_row(row) for row in group.kept}
    for row in sorted(group.arrived, key=lambda it: (it.position, it.message_id)):
        identity = identity_of_row(row)
        if identity not in known:
            known.add(identity)
            yield row


class _Turn:
    """`booked` are the rows that have changed."""

    def __init__(self, group: GroupRows, run: TableRun, messages: dict[int, InboxMessage]) -> None:
        self.booked: dict[int, TableRow] = {}
        self._run = run
        first = next(iter(messages.values()))
        tenant_id = first.hint.tenant_id or first.tenant_id
        waits = WhoWaits(run.catalog, tenant_id, first.hint.correlation_key, run.now)
        waits.open(group.waiting, {id_ for row in group.kept for id_ in row.subscription_ids or ()})
        self._carry_out(messages.values(), waits)

    def _carry_out(self, messages: Iterable[InboxMessage], waits: WhoWaits) -> None:
        planned = plan(messages, self._run.now, self._run.settings)
        for message, settled in planned.settled:
            self._book(message, settled)
        for message in planned.tries:
            taken = waits.offer(message)
            self._book(message, taken.outcome, taken.subscription_ids)
            if not goes_on(taken.outcome, self._run.settings):
                break

    def _book(self, message: InboxMessage, outcome: Outcome, subscription_ids: list[str] | None = None) -> None:
        settings = self._run.settings
        row = row_of_message(book(message, outcome, self._run.now, settings), settings)
        self.booked[message.key] = row._replace(outcome=_word_of(outcome), subscription_ids=subscription_ids or None)


def _word_of(outcome: Outcome) -> str:
    """As the counters of an inbox are called."""
    if isinstance(outcome, Delivered):
        return CORRELATED
    if isinstance(outcome, Expired):
        return EXPIRED
    return outcome.kind if isinstance(outcome, Failed) else TARGET_ERROR
