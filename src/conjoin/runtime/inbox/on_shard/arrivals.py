"""Arrivals: messages that were accepted get their keys and are stored, each once; and the rules by which groups wait.

A message that comes again is known by tenant, channel and id. One that comes behind others in its group does not wake
it, if those hold it back by the rules that the shard has noted.
"""

from collections.abc import Iterable

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.due import turn_at
from conjoin.kernel.inbox.message import identity_of
from conjoin.kernel.inbox.settings import FAIL_FIRST
from conjoin.runtime.inbox import requests as r
from conjoin.runtime.inbox.on_shard.attempts import InboxWork
from conjoin.runtime.inbox.placement import SPANNING, reach_of
from conjoin.runtime.inbox.rows import Filed, content_of
from conjoin.store.rows import PositionRow

Identity = tuple[str, str, str]
_ANY = InboxSettings()
"""When a new message is due does not depend on them."""


def keep_arrivals(work: InboxWork, request: r.InboxArrivals) -> r.InboxReply:
    reply = r.InboxReply()
    for letter in request.dead_letters:
        work.keep_dead_letter(letter)
        reply.counts.dead_lettered += 1
    known = _known(work, request.arrivals)
    fresh: list[Filed] = []
    for arrival in request.arrivals:
        identity = identity_of(arrival.message)
        if identity not in known:
            known.add(identity)
            fresh.append(arrival._replace(message=arrival.message._replace(key=work.take_key())))
    work.rows.arrived |= known
    rows, heads = work.rows, _heads(work, fresh)
    rows.groups(filed.message.group_key for filed in fresh)
    for filed in fresh:
        its = filed.message
        rows.put(filed, _ANY)
        rows.put_content(content_of(its))
        head = heads.get(its.group_key)
        if head is None or (filed.place, its.key) < head:
            rows.touch(its.group_key, its.target, turn_at(its))
    reply.counts.accepted = len(request.arrivals)
    reply.counts.persisted = len(fresh)
    reply.counts.duplicate = len(request.arrivals) - len(fresh)
    reply.counts.received = len(request.arrivals) + len(request.dead_letters)
    return reply


def _known(work: InboxWork, arrivals: Iterable[Filed]) -> set[Identity]:
    """Messages that are here already."""
    ids: dict[tuple[str, str], dict[str, None]] = {}
    for filed in arrivals:
        tenant_id, channel, message_id = identity_of(filed.message)
        ids.setdefault((tenant_id, channel), {})[message_id] = None
    known = set(work.rows.arrived)
    for (tenant_id, channel), some in ids.items():
        rows = work.rows.snapshot.inbox_with_ids(tenant_id, channel, list(some))
        known |= {(tenant_id, channel, row.message_id) for row in rows}
    return known


def _heads(work: InboxWork, fresh: Iterable[Filed]) -> dict[str, tuple[str, int]]:
    """Of each group the first in line, if messages behind it are held back."""
    rows = work.rows
    if not rows.snapshot.position(r.RULES_SOURCE).get(r.RULES_PART, "").startswith(FAIL_FIRST):
        return {}
    groups = {
        its.group_key: None
        for its, *_ in fresh
        if its.group_key not in rows.touched and reach_of(its.group_key, its.target, work.shards > 1) != SPANNING
    }
    firsts = rows.snapshot.inbox_line(list(groups), 1) if groups else ()
    return {row.group_key: (row.place, row.key) for row in firsts}


def note_rules(work: InboxWork, request: r.InboxRules) -> r.InboxReply:
    """Every group is looked at once more when the rules have changed; a bounded number is woken in a commit."""
    reply, snapshot = r.InboxReply(), work.rows.snapshot
    if snapshot.position(r.RULES_SOURCE).get(r.RULES_PART) == request.rules:
        return reply
    groups = snapshot.inbox_groups_in_line(request.after, r.AT_ONCE)
    work.rows.groups(group_key for group_key, _ in groups)
    for group_key, target in groups:
        work.rows.touch(group_key, target, work.now)
    if len(groups) == r.AT_ONCE:
        reply.next_group = groups[-1][0]
    else:
        work.rows.positions.append(PositionRow(r.RULES_SOURCE, r.RULES_PART, request.rules))
    return reply
