"""Sending: what a shard has to do with messages for remote systems, before the calls are made and after them.

That a message is about to be sent is stored before the call, and its outcome after it. Whoever dies in between leaves
it uncertain, and it lapses when nobody can be waiting for the answer any more.
"""

from conjoin.kernel.inbox import InboxMessage, plan
from conjoin.kernel.inbox.outcomes import intend
from conjoin.kernel.inbox.run import goes_on
from conjoin.runtime.inbox.on_shard.due_groups import LEAST_DEPTH, DueGroup, look_at, rests_until, to_plan
from conjoin.runtime.inbox.on_shard.offers import asked_of
from conjoin.runtime.inbox.on_shard.work import InboxWork
from conjoin.runtime.inbox.placement import REMOTE
from conjoin.runtime.inbox.requests import InboxBook, InboxIntend, InboxReply
from conjoin.store.rows import InboxGroupRow


def intend_next(work: InboxWork, request: InboxIntend) -> InboxReply:
    """The next message of each group; what has lapsed or expired is booked."""
    reply = InboxReply()
    most = min(request.settings.page_size, request.limit)
    due = work.ledger.snapshot.inbox_groups_due(REMOTE, request.horizon, most)
    groups = [row for row in due if row.group_key not in work.ledger.touched]
    if not groups:
        return reply
    names = [row.group_key for row in groups]
    looks = look_at(work.ledger.snapshot, names, request.horizon, request.settings, LEAST_DEPTH)
    for group in groups:
        _intend_first(work, group, looks[group.group_key], request, reply)
    reply.to_send = list(work.ledger.whole(reply.to_send).values())
    reply.looked_at = len(groups)
    return reply


def _intend_first(
    work: InboxWork, group: InboxGroupRow, look: DueGroup, request: InboxIntend, reply: InboxReply
) -> None:
    settings, horizon, members = request.settings, request.horizon, dict(look.members)
    seen = to_plan((filed.message for filed in members.values()), horizon, settings)
    planned = plan(seen, horizon, settings)
    for message, outcome in planned.settled:
        asked = asked_of(message)
        members[message.key] = work.book(members[message.key], outcome, asked, settings, reply.counts)
    more_at = horizon if planned.settled else horizon + 1
    for message in planned.tries[:1]:
        if message.target not in request.targets:
            # Nobody here can call it; it is left to a process that can.
            continue
        more_at = horizon
        reply.counts.note_try(message)
        filed = work.put(members[message.key], intend(message, work.now), settings)
        members[message.key] = filed
        reply.to_send.append(filed.message)
    work.ledger.rest(group, rests_until(look, members.values(), horizon, settings, more_at))


def book_outcomes(work: InboxWork, request: InboxBook) -> InboxReply:
    reply = InboxReply()
    found = work.ledger.filed([key for key, _, _ in request.outcomes])
    for key, outcome, asked in request.outcomes:
        filed = found.get(key)
        if filed is not None:
            work.book(filed, outcome, asked, request.settings, reply.counts)
            is_over = filed.message.group_key in request.rested or not goes_on(outcome, request.settings)
            _look_again(work, filed.message, request.horizon, is_over=is_over)
    return reply


def _look_again(work: InboxWork, message: InboxMessage, horizon: int, *, is_over: bool) -> None:
    """After a full batch, and after an error that ends the group's run, the others wait for the next one."""
    work.ledger.touch(message.group_key, message.target, horizon)
    if is_over:
        [group] = work.ledger.groups([message.group_key]).values()
        work.ledger.rest(group, horizon + 1)
