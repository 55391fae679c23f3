"""Operations on messages of a shard, cleanup, and messages that change their shard.

Each operation leaves a line that says who did it. A key that is corrected may belong to another shard: the message is
set aside here as one that moves, is stored there, and is only then removed here. Until then it is not tried.
"""

from conjoin.kernel.inbox import InboxMessage, InboxSettings, operate
from conjoin.kernel.inbox.groups import group_key_of
from conjoin.kernel.inbox.message import DELETED, Ending, is_expired
from conjoin.kernel.inbox.operations import Correct, OperationRefused, operation_line
from conjoin.kernel.inbox.outcomes import Expired
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.inbox.on_shard.attempts import InboxWork
from conjoin.runtime.inbox.placement import MOVING, home_of, moving_group, reach_of, stored_group
from conjoin.runtime.inbox.requests import InboxCleanup, InboxMoveIn, InboxMoveOut, InboxOperate, InboxReply
from conjoin.runtime.inbox.rows import Filed, content_of, read_row, unstorable, with_content

_ANY = InboxSettings()
"""What has ended is never due, whatever they are."""
MOVED_TO = "moved to another shard as message "


def operate_on(work: InboxWork, request: InboxOperate) -> InboxReply:
    reply = InboxReply()
    found = work.rows.filed(request.keys)
    messages = {key: filed.message for key, filed in found.items()}
    if isinstance(request.operation, Correct):
        messages |= work.rows.whole(messages.values())
    work.rows.groups(message.group_key for message in messages.values())
    for key in request.keys:
        if key in messages:
            reply.answers.append(_operate(work, found[key], messages[key], request))
        else:
            reply.answers.append(OperationRefused("not_found", f"there is no message {key} in the inbox"))
    return reply


def _operate(
    work: InboxWork, filed: Filed, message: InboxMessage, request: InboxOperate
) -> InboxMessage | OperationRefused:
    operation = request.operation
    if reach_of(message.group_key, message.target, work.shards > 1) == MOVING:
        return OperationRefused("moving", "the message is on its way to another shard")
    answer = operate(message, operation, work.now, request.settings)
    if isinstance(answer, OperationRefused):
        return answer
    if isinstance(operation, Correct):
        problem = unstorable(answer)
        if problem is not None:
            return OperationRefused("invalid", problem)
        answer = answer._replace(group_key=stored_group(answer.group_key))
        work.rows.put_content(content_of(answer))
        if home_of(answer, work.shards) != work.index:
            answer = answer._replace(group_key=moving_group(answer.key))
    name, detail = operation_line(operation)
    filed = work.rows.add_line(filed, work.now, name, request.who, ("", "", json_text(detail), ""))
    work.put(filed, answer, request.settings)
    for group_key in {message.group_key: None, answer.group_key: None}:
        work.rows.touch(group_key, answer.target, work.now)
    return answer


def move_in(work: InboxWork, request: InboxMoveIn) -> InboxReply:
    """One that is here came with an earlier attempt to move it, and is not touched; or it belongs here again."""
    row, rows = request.row, work.rows
    here = rows.filed([row.key]).get(row.key)
    if here is not None and here.message.group_key != moving_group(row.key):
        return InboxReply()
    ghosts = rows.snapshot.inbox_with_ids(row.tenant_id, row.channel, [row.message_id])
    left_here = [ghost.key for ghost in ghosts if ghost.taken_by.startswith(MOVED_TO)]
    if left_here:
        rows.remove(left_here)
    group_key = stored_group(group_key_of(with_content(read_row(row).message, request.content)))
    rows.put_row(row._replace(group_key=group_key))
    rows.put_content(request.content)
    rows.lines += request.history
    rows.touch(group_key, row.target, work.now)
    for moving in rows.groups([moving_group(row.key)]).values():
        rows.rest(moving, None)
    return InboxReply()


def move_out(work: InboxWork, request: InboxMoveOut) -> InboxReply:
    """It stays known here, under another key: its source may deliver it again."""
    filed = work.rows.filed([request.key]).get(request.key)
    if filed is None or filed.message.group_key != moving_group(request.key):
        return InboxReply()
    for group in work.rows.groups([filed.message.group_key]).values():
        work.rows.rest(group, None)
    work.rows.remove([request.key])
    ending = Ending("discarded", "deleted", work.now, f"{MOVED_TO}{request.key}")
    ghost = filed.message._replace(key=work.take_key(), state=DELETED, ending=ending)
    work.rows.put(Filed(ghost, filed.place), _ANY)
    return InboxReply()


def clean_up(work: InboxWork, request: InboxCleanup) -> InboxReply:
    reply, settings, rows = InboxReply(), request.settings, work.rows
    late = [row.key for row in rows.snapshot.inbox_expired(work.now, request.limit)]
    expired = {key: it for key, it in rows.filed(late).items() if is_expired(it.message, work.now)}
    rows.groups(filed.message.group_key for filed in expired.values())
    for filed in expired.values():
        work.book(filed, Expired(), "", settings, reply.counts)
        rows.touch(filed.message.group_key, filed.message.target, work.now)
    if settings.retention is not None and not request.keeps_all:
        before = work.now - settings.retention * 1_000 + 1
        over = [row.key for row in rows.snapshot.inbox_over(before, request.limit)]
        if over:
            rows.remove(over)
        reply.counts.removed = len(over)
    reply.looked_at = max(reply.counts.expired, reply.counts.removed)
    return reply
