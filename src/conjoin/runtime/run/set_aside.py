"""What was set aside: an item that cannot be carried out is put away with its reason, and its shard goes on.

An item is mail from another shard, a timer, a job that comes back, a message whose time is over, or the start timers of
a model. It is tried again by itself a few times, later and later, if its failure may pass; then an operator retries or
deletes it. Nothing sweeps what is set aside, and what was deleted stays known, so that it does not come back.
"""

from dataclasses import dataclass
from typing import Any

from conjoin.errors import TooMuchFollows
from conjoin.kernel.process import commands as c
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.orders import read_order, written_order
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.due import Kind, Sweep, due_orders, due_rows
from conjoin.runtime.run.execution import Execution, stamp
from conjoin.runtime.run.travels import order_text
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store import tables as t
from conjoin.store.rows import OutboxRow, SetAsideRow
from conjoin.store.tables import Table

WAITING, DELETED = "waiting", "deleted"
MAIL, START_TIMERS = "mail", "start timers"
KINDS: dict[str, Kind] = {"timer": "timers", "job": "jobs", "message": "messages"}
"""Those that a sweep finds."""
UNMOVED: dict[Kind, tuple[Table, str]] = {"timers": (t.TIMER, "timer"), "jobs": (t.JOB, "job")}
"""Those that are looked up by a row, and happen in an instance: the two may contradict each other."""
NO_EFFECT = "it is due by its row, but its instance does not have it, or not as due: nothing comes of it"
ATTEMPTS = 5
"""It is tried so often by itself."""
_FIRST_PAUSE_US = 1_000_000
_FACTOR = 4
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class SetAside:
    """`may_pass`: it is tried again by itself."""

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


REQUESTS = (SetAside, RetrySetAside, FailedAgain, DeleteSetAside)


def setting_aside(kind: str, key: int, error: Exception) -> SetAside:
    return SetAside(kind, key, text_of(error), may_pass(error))


def may_pass(error: Exception) -> bool:
    """What has no end, or is too large, is so the next time, too."""
    return not isinstance(error, TooMuchFollows)


class SetAsideFold:
    """Its part of a run. `received` is what was taken from other shards in it."""

    def __init__(self, execution: Execution, received: dict[int, int]) -> None:
        self.put: dict[int, SetAsideRow] = {}
        self.drop: list[tuple[int]] = []
        self._its = execution.its
        self._now = execution.now
        self._order = execution.order
        self._received = received

    def carry_out(self, request: Any) -> Reply:
        if type(request) is SetAside:
            self._set_aside(request)
            return Reply()
        row = next((it for it in self._its.snapshot.set_aside([request.key]) if it.state == WAITING), None)
        if row is None:
            return Reply()
        if type(request) is RetrySetAside:
            self._retry(row)
        elif type(request) is DeleteSetAside:
            self.put[row.key] = row._replace(state=DELETED, next_try_at=None, tried_at=self._now)
        else:
            self._note_failure(row, request)
        return Reply(key=row.key)

    def _set_aside(self, request: SetAside) -> None:
        if request.row is not None:
            taken = self._received.get(request.sender, self._its.snapshot.received().get(request.sender, 0))
            if request.row.seq <= taken:
                return
            self._received[request.sender] = request.row.seq
        elif self._its.snapshot.set_aside_of(request.kind, request.item_key):
            return
        tenant_id, instance_key = self._owner(request)
        key = self._its.keys.take()
        self.put[key] = SetAsideRow(
            *(key, request.kind, request.item_key, request.sender, tenant_id, instance_key),
            *(self._now, self._now, 1, self._next_try(1) if request.may_pass else None, WAITING, request.reason),
            "" if request.row is None else request.row.command,
        )

    def _owner(self, request: SetAside) -> tuple[str, int]:
        """Tenant and instance, as far as a row tells."""
        if request.kind not in KINDS:
            return "", 0
        sweep = Sweep(KINDS[request.kind], keys=(request.item_key,))
        row = next(iter(due_rows(self._its.snapshot, sweep, self._now)), None)
        return getattr(row, "tenant_id", ""), getattr(row, "instance_key", 0)

    def _retry(self, row: SetAsideRow) -> None:
        """An item that is gone by now is done with."""
        if row.kind == MAIL:
            said = read_json(order_text(row.command))
            order = read_order(said)
            stamp(order, self._now)
            self._order(order, said)
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

    def _note_failure(self, row: SetAsideRow, request: FailedAgain) -> None:
        attempts = row.attempts + 1
        next_try_at = self._next_try(attempts) if request.may_pass and attempts < ATTEMPTS else None
        self.put[row.key] = row._replace(
            tried_at=self._now, attempts=attempts, next_try_at=next_try_at, reason=request.reason
        )

    def _next_try(self, attempts: int) -> int:
        pause_us: int = _FIRST_PAUSE_US * _FACTOR ** (attempts - 1)
        return self._now + pause_us
