"""The inbox's part of a run: each request is carried out on the rows of its shard, and its changes are one commit.

A message that is tried is folded into the same run, so its correlation and its booking are there together or not at
all. Nothing here is replayed: the log has the messages that were offered, and the inbox is kept beside it.
"""

from collections.abc import Callable
from typing import Any

from conjoin.runtime.inbox import requests as r
from conjoin.runtime.inbox.on_shard.arrivals import keep_arrivals, note_rules
from conjoin.runtime.inbox.on_shard.attempts import InboxWork, Offers
from conjoin.runtime.inbox.on_shard.operations import clean_up, move_in, move_out, operate_on
from conjoin.runtime.inbox.on_shard.runs import book_outcomes, intend_next, rest_group, run_groups, take_turn
from conjoin.runtime.inbox.on_shard.unit_of_work import InboxRows
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.working_set.working_set import Execution

_CARRY_OUT: dict[type, Callable[[InboxWork, Any], r.InboxReply]] = {
    r.InboxArrivals: keep_arrivals,
    r.InboxRules: note_rules,
    r.InboxRun: run_groups,
    r.InboxTurn: take_turn,
    r.InboxRest: rest_group,
    r.InboxIntend: intend_next,
    r.InboxBook: book_outcomes,
    r.InboxOperate: operate_on,
    r.InboxCleanup: clean_up,
    r.InboxMoveIn: move_in,
    r.InboxMoveOut: move_out,
}


class InboxFold:
    def __init__(self, execution: Execution) -> None:
        its = execution.its
        self.rows = InboxRows(its.snapshot, its.is_one_of_many)
        where = (its.index, its.shard_count, its.keys.take, execution.keep_dead_letter)
        self._work = InboxWork(self.rows, Offers(execution), execution.now, *where)

    @property
    def tried(self) -> list[int]:
        """The rows that were tried, the last one last."""
        return self._work.tried

    def carry_out(self, request: r.InboxRequest) -> Reply:
        self._work.tried.clear()
        self._work.failing = getattr(request, "failing", {})
        return Reply(inbox=_CARRY_OUT[type(request)](self._work, request))
