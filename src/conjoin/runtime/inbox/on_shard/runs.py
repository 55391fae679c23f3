"""Runs: what is due in the groups of a shard is tried or sent, many groups in a commit.

Each group is planned by the kernel from what `due_groups.py` has read of it. A group that was dealt with is not due
again before the horizon, unless there is more of it: so a run ends, and no group starves. That a message is about to be
sent to a remote system is stored before the call, and its outcome after it. A crash in between leaves it uncertain, and
it lapses when the answer can no longer come.
"""

from conjoin.kernel.inbox import InboxMessage, InboxSettings, plan
from conjoin.kernel.inbox.due import EXPIRE, LAPSE, TRY, what_is_due
from conjoin.kernel.inbox.outcomes import Expired, Outcome, Unanswered, intend
from conjoin.kernel.inbox.run import goes_on
from conjoin.runtime.inbox.on_shard.attempts import InboxWork, goes_on_after, is_on_its_way, request_text
from conjoin.runtime.inbox.on_shard.due_groups import LEAST_DEPTH, DueGroup, look_at, rests_until, to_plan
from conjoin.runtime.inbox.placement import OWN, REMOTE
from conjoin.runtime.inbox.requests import InboxBook, InboxIntend, InboxReply, InboxRest, InboxRun, InboxTurn
from conjoin.store.rows import InboxGroupRow

_READ_AT_MOST = 10
"""Times as many messages are read as are tried in a commit, at most."""
_BY_ITSELF: dict[str, Outcome] = {EXPIRE: Expired(), LAPSE: Unanswered()}


def run_groups(work: InboxWork, request: InboxRun) -> InboxReply:
    reply = InboxReply()
    # How many messages are tried in a commit, about: a page of them at most.
    limit = min(request.limit, request.settings.page_size)
    groups = _groups(work, request, limit) if request.settings.batch_size else []
    if not groups:
        return reply
    names = [row.group_key for row in groups]
    depth = depth_of(request.settings, len(names), limit)
    looks = look_at(work.rows.snapshot, names, request.horizon, request.settings, depth)
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
        return dict(work.rows.whole(messages))
    except (ValueError, TypeError, LookupError):
        if len(messages) == 1:
            return {}
    middle = len(messages) // 2
    return {**_readable(work, messages[:middle]), **_readable(work, messages[middle:])}


def _groups(work: InboxWork, request: InboxRun, limit: int) -> list[InboxGroupRow]:
    """Those that were touched in this commit are not seen as they are now; they stay due."""
    touched, settings = work.rows.touched, request.settings
    if request.groups:
        return list(work.rows.groups(group for group in request.groups if group not in touched).values())
    due = work.rows.snapshot.inbox_groups_due(OWN, request.horizon, settings.page_size)
    fresh = [row for row in due if row.group_key not in touched]
    most = _READ_AT_MOST * limit // depth_of(settings, len(fresh), limit)
    return fresh[: max(most, 1)]


def depth_of(settings: InboxSettings, groups: int, limit: int) -> int:
    """How many of each group are tried in a commit: a whole batch, where there is such a thing."""
    return settings.batch_size if settings.batch_size > 0 else max(LEAST_DEPTH, limit // max(groups, 1))


class GroupTurn:
    """One group in one commit. Answers that came late are booked first: they may have been in the way of others."""

    def __init__(
        self, work: InboxWork, group: InboxGroupRow, look: DueGroup, request: InboxRun, reply: InboxReply
    ) -> None:
        self._work, self._group, self._look, self._reply = work, group, look, reply
        self._settings, self._horizon = request.settings, request.horizon
        self._members = dict(look.members)
        self._booked = 0
        for key, filed in look.members.items():
            late = work.offers.late_outcome(filed)
            if late is not None:
                self._book(key, late)
        seen = [work.offers.as_planned(filed, self._horizon) for filed in self._members.values()]
        self.planned = plan(to_plan(seen, self._horizon, self._settings), self._horizon, self._settings)

    def run(self, whole: dict[int, InboxMessage]) -> int:
        """How many were tried."""
        work, settings, counts, members = self._work, self._settings, self._reply.counts, self._members
        for message, settled in self.planned.settled:
            self._book(message.key, settled)
        tried, goes_on = 0, settings.batch_size < 0
        for message in self.planned.tries:
            key, tried = message.key, tried + 1
            members[key], outcome = work.attempt(members[key], whole.get(key), settings, counts)
            if not goes_on_after(outcome, settings):
                goes_on = False
                break
        if any(map(is_on_its_way, members.values())):
            self._reply.held.append(self._group.group_key)
        # After a full batch, and after an error that ends the group's run, the others wait for the next one.
        more_at = self._horizon if goes_on and tried + self._booked else self._horizon + 1
        rests = rests_until(self._look, members.values(), self._horizon, settings, more_at)
        work.rows.rest(self._group, rests)
        return tried

    def _book(self, key: int, outcome: Outcome) -> None:
        filed = self._members[key]
        request = request_text(filed.message)
        self._members[key] = self._work.book(filed, outcome, request, self._settings, self._reply.counts)
        self._booked += 1


def take_turn(work: InboxWork, request: InboxTurn) -> InboxReply:
    """One message of a group that spans shards."""
    reply, settings = InboxReply(), request.settings
    filed = work.rows.filed([request.key]).get(request.key)
    if filed is None:
        return reply
    what = what_is_due(work.offers.as_planned(filed, request.horizon), request.horizon, settings)
    if what == TRY:
        whole = work.rows.whole([filed.message])
        _, reply.outcome = work.attempt(filed, whole.get(request.key), settings, reply.counts)
        return reply
    reply.outcome = work.offers.late_outcome(filed) or _BY_ITSELF.get(what or "")
    if reply.outcome is not None:
        work.book(filed, reply.outcome, request_text(filed.message), settings, reply.counts)
    return reply


def rest_group(work: InboxWork, request: InboxRest) -> InboxReply:
    """What came to the group since it was looked at is not forgotten."""
    group = work.rows.groups([request.group_key]).get(request.group_key)
    if group is not None and group.version == request.version and request.group_key not in work.rows.touched:
        work.rows.rest(group, request.due_at)
    return InboxReply()


def intend_next(work: InboxWork, request: InboxIntend) -> InboxReply:
    """The next message of each group; what has lapsed or expired is booked."""
    reply = InboxReply()
    most = min(request.settings.page_size, request.limit)
    due = work.rows.snapshot.inbox_groups_due(REMOTE, request.horizon, most)
    groups = [row for row in due if row.group_key not in work.rows.touched]
    if not groups:
        return reply
    names = [row.group_key for row in groups]
    looks = look_at(work.rows.snapshot, names, request.horizon, request.settings, LEAST_DEPTH)
    for group in groups:
        _intend_first(work, group, looks[group.group_key], request, reply)
    reply.to_send = list(work.rows.whole(reply.to_send).values())
    reply.looked_at = len(groups)
    return reply


def _intend_first(
    work: InboxWork, group: InboxGroupRow, look: DueGroup, request: InboxIntend, reply: InboxReply
) -> None:
    settings, horizon, members = request.settings, request.horizon, dict(look.members)
    seen = to_plan((filed.message for filed in members.values()), horizon, settings)
    planned = plan(seen, horizon, settings)
    for message, outcome in planned.settled:
        filed = members[message.key]
        members[message.key] = work.book(filed, outcome, request_text(message), settings, reply.counts)
    more_at = horizon if planned.settled else horizon + 1
    for message in planned.tries[:1]:
        if message.target not in request.targets:
            # This process cannot call it; it is left to one that can.
            continue
        more_at = horizon
        reply.counts.note_try(message)
        filed = work.put(members[message.key], intend(message, work.now), settings)
        members[message.key] = filed
        reply.to_send.append(filed.message)
    work.rows.rest(group, rests_until(look, members.values(), horizon, settings, more_at))


def book_outcomes(work: InboxWork, request: InboxBook) -> InboxReply:
    reply, rows = InboxReply(), work.rows
    found = rows.filed([key for key, _, _ in request.outcomes])
    for key, outcome, text in request.outcomes:
        filed = found.get(key)
        if filed is None:
            continue
        group_key, target = filed.message.group_key, filed.message.target
        work.book(filed, outcome, text, request.settings, reply.counts)
        rows.touch(group_key, target, request.horizon)
        if group_key in request.rested or not goes_on(outcome, request.settings):
            # After a full batch, and after an error that ends the group's run, the others wait for the next one.
            [group] = rows.groups([group_key]).values()
            rows.rest(group, request.horizon + 1)
    return reply
