"""What was set aside: an item that cannot be carried out is put away with its reason, and its shard goes on.

An item is mail from another shard, a timer, a job that comes back, a message whose time is over, or the start timers of
a model. It is retried automatically a few times, with growing pauses, if its failure may be transient; then an operator
retries or deletes it. Nothing sweeps what is set aside, and what was deleted stays known: it does not come back.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from conjoin.kernel.process import commands as c
from conjoin.runtime.client_api.answers import DONE, Done, Refusal
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.orders import read_order, written_order
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.due import DueRow, Kind, Sweep, due_orders, due_rows
from conjoin.runtime.run.isolation import blamed, carried_out, is_items, may_pass
from conjoin.runtime.run.limits import order_text
from conjoin.runtime.run.working_set.working_set import Execution
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store import tables as t
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import OutboxRow, SetAsideRow
from conjoin.store.tables import Table

WAITING, DELETED = "waiting", "deleted"
MAIL, START_TIMERS = "mail", "start timers"
KINDS: dict[str, Kind] = {"timer": "timers", "job": "jobs", "message": "messages"}
"""Those that a sweep finds."""
_KIND_OF = {sweep: kind for kind, sweep in KINDS.items()}
UNMOVED: dict[Kind, tuple[Table, str]] = {"timers": (t.TIMER, "timer"), "jobs": (t.JOB, "job")}
"""Those that are looked up by a row, and happen in an instance: the two may contradict each other."""
Ask = Callable[[object], Reply]
"""Carries out a request on one shard."""
Look = Callable[[], AbstractContextManager[ShardSnapshot]]
NO_EFFECT = "it is due by its row, but its instance does not have it, or not as due: nothing comes of it"
ATTEMPTS = 5
"""How often it is retried automatically."""
_FIRST_PAUSE_US = 1_000_000
_FACTOR = 4
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class SetAside:
    """`may_pass`: it is retried automatically."""

    kind: str
    item_key: int
    reason: str
    may_pass: bool = True
    sender: int = _NOBODY
    row: OutboxRow | None = None
    """Mail; its item is the number that it had in the outbox of its sender."""


@dataclass(frozen=True, slots=True)
class RetrySetAside:
    key: int


@dataclass(frozen=True, slots=True)
class FailedAgain:
    key: int
    reason: str
    may_pass: bool = True


@dataclass(frozen=True, slots=True)
class DeleteSetAside:
    key: int


SetAsideRequest = SetAside | RetrySetAside | FailedAgain | DeleteSetAside


class SetAsideFold:
    """Its part of a run. `received` is what was taken from other shards in it."""

    def __init__(self, execution: Execution, received: dict[int, int]) -> None:
        self.put: dict[int, SetAsideRow] = {}
        self.drop: list[tuple[int]] = []
        self._its = execution.its
        self._now = execution.now
        self._execution = execution
        self._order = execution.order
        self._received = received

    def carry_out(self, request: SetAsideRequest) -> Reply:
        if isinstance(request, SetAside):
            self._set_aside(request)
            return Reply()
        row = next((it for it in self._its.snapshot.set_aside([request.key]) if it.state == WAITING), None)
        if row is None:
            return Reply()
        if isinstance(request, RetrySetAside):
            self._retry(row)
        elif isinstance(request, DeleteSetAside):
            self.put[row.key] = row._replace(state=DELETED, next_try_at=None, tried_at=self._now)
        else:
            attempts = row.attempts + 1
            next_try_at = self._next_try(attempts) if request.may_pass and attempts < ATTEMPTS else None
            self.put[row.key] = row._replace(
                tried_at=self._now, attempts=attempts, next_try_at=next_try_at, reason=request.reason
            )
        return Reply(key=row.key)

    def _set_aside(self, request: SetAside) -> None:
        snapshot = self._its.snapshot
        if request.row is not None:
            taken = self._received.get(request.sender, snapshot.received().get(request.sender, 0))
            if request.row.seq <= taken:
                return
            self._received[request.sender] = request.row.seq
        elif snapshot.set_aside_of(request.kind, request.item_key):
            return
        owner: DueRow | None = None
        if request.kind in KINDS:
            sweep = Sweep(KINDS[request.kind], keys=(request.item_key,))
            owner = next(iter(due_rows(snapshot, sweep, self._now)), None)
        key = self._its.keys.take()
        self.put[key] = SetAsideRow(
            *(key, request.kind, request.item_key, request.sender),
            *("" if owner is None else owner.tenant_id, getattr(owner, "instance_key", 0)),
            since=self._now,
            tried_at=self._now,
            attempts=1,
            next_try_at=self._next_try(1) if request.may_pass else None,
            state=WAITING,
            reason=request.reason,
            command="" if request.row is None else request.row.command,
        )

    def _retry(self, row: SetAsideRow) -> None:
        """An item that is gone by now is done with."""
        if row.kind == MAIL:
            written = read_json(order_text(row.command))
            self._execution.receive(read_order(written), written)
        elif row.kind == START_TIMERS:
            scheduling = c.ScheduleStarts(row.item_key, self._now)
            self._order(scheduling, written_order(scheduling))
        else:
            orders, _ = due_orders(self._its, Sweep(KINDS[row.kind], keys=(row.item_key,)), self._now)
            for _, order in orders:
                decided = self._order(order, written_order(order))
                if not decided and KINDS[row.kind] in UNMOVED:
                    raise LookupError(NO_EFFECT)
        self.drop.append((row.key,))

    def _next_try(self, attempts: int) -> int:
        pause_us: int = _FIRST_PAUSE_US * _FACTOR ** (attempts - 1)
        return self._now + pause_us


def mail_set_aside(sender: int, row: OutboxRow, error: Exception) -> SetAside:
    return SetAside(MAIL, row.seq, text_of(error), may_pass(error), sender, row)


def sweep_carefully(ask: Ask, look: Look, sweep: Sweep, now: Callable[[], int]) -> int:
    """How much was due; as much as the limit: perhaps there is more.

    A sweep that fails is carried out without the item that made it fail, which is set aside. A failure of the store is
    raised: the next round tries again.
    """
    try:
        return ask(sweep).swept
    except Exception as error:
        if not is_items(error):
            raise
        failed = error
    with look() as snapshot:
        keys = [row.key for row in due_rows(snapshot, sweep, now())]
    tried = carried_out(
        lambda some: ask(Sweep(sweep.kind, keys=tuple(some))),
        keys,
        lambda key, it: key == it.key,
        failed if blamed(failed).key in keys else None,
    )
    for some, outcome in tried:
        if isinstance(outcome, Exception):
            ask(SetAside(_KIND_OF[sweep.kind], some[0], text_of(outcome), may_pass(outcome)))
    return len(keys)


def schedule_carefully(ask: Ask, orders: Sequence[c.ScheduleStarts]) -> None:
    """The start timers of each model by itself (see `due.py`)."""
    for order in orders:
        try:
            ask(order)
        except Exception as error:
            if not is_items(error):
                raise
            ask(SetAside(START_TIMERS, order.definition_key, text_of(error), may_pass(error)))


def retry_due(ask: Ask, keys: Sequence[int]) -> None:
    for key in keys:
        retry_set_aside(ask, key)


def retry_set_aside(ask: Ask, key: int) -> Done | Refusal:
    try:
        found = ask(RetrySetAside(key)).key
    except Exception as error:
        if not is_items(error):
            raise
        ask(FailedAgain(key, text_of(error), may_pass(error)))
        return Refusal("INVALID_STATE", f"it failed again and stays set aside: {text_of(error)}")
    return DONE if found else _unknown(key)


def delete_set_aside(ask: Ask, key: int) -> Done | Refusal:
    return DONE if ask(DeleteSetAside(key)).key else _unknown(key)


def _unknown(key: int) -> Refusal:
    return Refusal("NOT_FOUND", f"nothing that is set aside has the key {key}")
