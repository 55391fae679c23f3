"""Runs: what is due in the groups of a shard is tried, many groups in a commit.

Each group is planned by the kernel from what `looks.py` has read of it. A group that was dealt with is not due again
before the horizon, unless there is more of it: so a run ends, and nobody is starved.
"""

from conjoin.kernel.inbox import InboxMessage, InboxSettings, plan
from conjoin.kernel.inbox.due import EXPIRE, LAPSE, TRY, what_is_due
from conjoin.kernel.inbox.outcomes import Expired, Outcome, Unanswered
from conjoin.kernel.inbox.run import RunPlan
from conjoin.runtime.inbox.on_shard.due_groups import LEAST_DEPTH, DueGroup, look_at, rests_until, to_plan
from conjoin.runtime.inbox.on_shard.offers import asked_of
from conjoin.runtime.inbox.on_shard.tries import as_planned, goes_on_after, is_on_its_way, late_outcome, try_message
from conjoin.runtime.inbox.on_shard.work import InboxWork
from conjoin.runtime.inbox.placement import OWN
from conjoin.runtime.inbox.requests import InboxReply, InboxRest, InboxRun, InboxTurn
from conjoin.store.rows import InboxGroupRow

_READ_AT_MOST = 10
"""Times as many messages are read as are tried in a commit, at most."""
_BY_ITSELF: dict[str, Outcome] = {EXPIRE: Expired(), LAPSE: Unanswered()}


def run_groups(work: InboxWork, request: InboxRun) -> InboxReply:
    reply = InboxReply()
    groups = _groups(work, request) if request.settings.batch_size else []
    if not groups:
        return reply
    names, limit = [row.group_key for row in groups], limit_of(request)
    depth = depth_of(request.settings, len(names), limit)
    looks = look_at(work.ledger.snapshot, names, request.horizon, request.settings, depth)
    turns = [GroupTurn(work, row, looks[row.group_key], request, reply) for row in groups]
    whole = _readable(work, [message for turn in turns for message in turn.planned.tries])
    work.offers.fetch(whole)
    tried = 0
    for turn in turns:
        if tried >= limit:
            break
        tried += turn.run(whole)
    reply.looked_at = len(turns)
    return reply


def _readable(work: InboxWork, messages: list[InboxMessage]) -> dict[int, InboxMessage]:
    """With what came in with them; one that cannot be read is left out, and its attempt fails."""
    try:
        return dict(work.ledger.whole(messages))
    except (ValueError, TypeError, LookupError):
        if len(messages) == 1:
            return {}
    middle = len(messages) // 2
    return {**_readable(work, messages[:middle]), **_readable(work, messages[middle:])}


def _groups(work: InboxWork, request: InboxRun) -> list[InboxGroupRow]:
    """Those that were touched in this commit are not seen as they are now; they stay due."""
    touched, settings = work.ledger.touched, request.settings
    if request.groups:
        return list(work.ledger.groups(group for group in request.groups if group not in touched).values())
    due = work.ledger.snapshot.inbox_groups_due(OWN, request.horizon, settings.page_size)
    fresh = [row for row in due if row.group_key not in touched]
    limit = limit_of(request)
    most = _READ_AT_MOST * limit // depth_of(settings, len(fresh), limit)
    return fresh[: max(most, 1)]


def limit_of(request: InboxRun) -> int:
    """How many messages are tried in a commit, about: a page of them at most."""
    return min(request.limit, request.settings.page_size)


def depth_of(settings: InboxSettings, groups: int, limit: int) -> int:
    """How many of each group are tried in a commit: a whole batch, where there is such a thing."""
    return settings.batch_size if settings.batch_size > 0 else max(LEAST_DEPTH, limit // max(groups, 1))


class GroupTurn:
    """One group in one commit. Answers that came late are booked first: they may have been in the way of others."""

    def __init__(
        self, work: InboxWork, group: InboxGroupRow, look: DueGroup, request: InboxRun, reply: InboxReply
    ) -> None:
        self._work = work
        self._group = group
        self._look = look
        self._settings, self._horizon = request.settings, request.horizon
        self._reply = reply
        self._members = dict(look.members)
        self._booked = 0
        self.planned: RunPlan = self._plan()

    def _plan(self) -> RunPlan:
        work, members = self._work, self._members
        for key, filed in members.items():
            late = late_outcome(work, filed)
            if late is not None:
                self._book(key, late)
        seen = [as_planned(work, filed, self._horizon) for filed in members.values()]
        return plan(to_plan(seen, self._horizon, self._settings), self._horizon, self._settings)

    def run(self, whole: dict[int, InboxMessage]) -> int:
        """How many were tried."""
        work, settings, counts, members = self._work, self._settings, self._reply.counts, self._members
        for message, outcome in self.planned.settled:
            self._book(message.key, outcome)
        tried, goes_on = 0, settings.batch_size < 0
        for message in self.planned.tries:
            key, tried = message.key, tried + 1
            members[key], answer = try_message(work, members[key], whole.get(key), settings, counts)
            if not goes_on_after(answer, settings):
                goes_on = False
                break
        if any(map(is_on_its_way, members.values())):
            self._reply.held.append(self._group.group_key)
        # After a full batch, and after an error that ends the group's run, the others wait for the next one.
        more_at = self._horizon if goes_on and tried + self._booked else self._horizon + 1
        rests = rests_until(self._look, members.values(), self._horizon, settings, more_at)
        work.ledger.rest(self._group, rests)
        return tried

    def _book(self, key: int, outcome: Outcome) -> None:
        filed = self._members[key]
        asked = asked_of(filed.message)
        self._members[key] = self._work.book(filed, outcome, asked, self._settings, self._reply.counts)
        self._booked += 1


def take_turn(work: InboxWork, request: InboxTurn) -> InboxReply:
    """One message of a group that somebody else watches over."""
    reply, settings = InboxReply(), request.settings
    filed = work.ledger.filed([request.key]).get(request.key)
    if filed is None:
        return reply
    what = what_is_due(as_planned(work, filed, request.horizon), request.horizon, settings)
    if what == TRY:
        whole = work.ledger.whole([filed.message])
        _, reply.outcome = try_message(work, filed, whole.get(request.key), settings, reply.counts)
        return reply
    reply.outcome = late_outcome(work, filed) or _BY_ITSELF.get(what or "")
    if reply.outcome is not None:
        work.book(filed, reply.outcome, asked_of(filed.message), settings, reply.counts)
    return reply


def rest_group(work: InboxWork, request: InboxRest) -> InboxReply:
    """Whoever came to the group since it was looked at is not forgotten."""
    group = work.ledger.groups([request.group_key]).get(request.group_key)
    if group is not None and group.version == request.version and request.group_key not in work.ledger.touched:
        work.ledger.rest(group, request.due_at)
    return InboxReply()
