"""Arriving: messages that were accepted get their keys and are stored, each once; and the rules by which groups wait.

A message that comes again is known by tenant, channel and id. One that comes to stand behind others in its group does
not wake it, if those hold it back by the rules that the shard has noted.
"""

from collections.abc import Iterable

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.due import turn_at
from conjoin.kernel.inbox.message import identity_of
from conjoin.kernel.inbox.settings import FAIL_FIRST
from conjoin.runtime.inbox.on_shard.work import InboxWork
from conjoin.runtime.inbox.placement import SPANNING, reach_of
from conjoin.runtime.inbox.requests import AT_ONCE, InboxArrivals, InboxReply, InboxRules
from conjoin.runtime.inbox.rows import Filed
from conjoin.store.rows import PositionRow

SOURCE, PART = "inbox", "rules"
Identity = tuple[str, str, str]
_ANY = InboxSettings()
"""When a new message is due does not depend on them."""


def rules_of(settings: InboxSettings) -> str:
    """By which of the settings a message is held back by others."""
    return f"{settings.mode} {settings.group_gate} {'blocks' if settings.exhausted_blocks else 'passes'}"


def keep_arrivals(work: InboxWork, request: InboxArrivals) -> InboxReply:
    reply = InboxReply()
    for letter in request.dead_letters:
        work.keep_dead_letter(letter)
        reply.counts.dead_lettered += 1
    known = _known(work, request.arrivals)
    fresh: list[Filed] = []
    for arrival in request.arrivals:
        identity = identity_of(arrival.message)
        if identity in known:
            reply.counts.duplicate += 1
        else:
            known[identity] = work.take_key()
            fresh.append(arrival._replace(message=arrival.message._replace(key=known[identity])))
        reply.keys.append(known[identity])
    _file(work, fresh)
    reply.counts.accepted = len(request.arrivals)
    reply.counts.persisted = len(fresh)
    reply.counts.received = len(request.arrivals) + len(request.dead_letters)
    return reply


def _known(work: InboxWork, arrivals: Iterable[Filed]) -> dict[Identity, int]:
    """The keys of messages that are here already."""
    known: dict[Identity, int] = {}
    ids: dict[tuple[str, str], list[str]] = {}
    for filed in arrivals:
        tenant_id, channel, message_id = identity_of(filed.message)
        ids.setdefault((tenant_id, channel), []).append(message_id)
    for (tenant_id, channel), some in ids.items():
        rows = work.ledger.snapshot.inbox_with_ids(tenant_id, channel, list(dict.fromkeys(some)))
        known |= {(tenant_id, channel, row.message_id): row.key for row in rows}
    return known | work.ledger.arrived


def _file(work: InboxWork, fresh: list[Filed]) -> None:
    ledger = work.ledger
    heads = _heads(work, fresh)
    ledger.groups(filed.message.group_key for filed in fresh)
    for filed in fresh:
        its = filed.message
        ledger.arrived[identity_of(its)] = its.key
        ledger.put(filed, _ANY)
        ledger.put_content(its)
        head = heads.get(its.group_key)
        if head is None or (filed.place, its.key) < head:
            ledger.touch(its.group_key, its.target, turn_at(its))


def _heads(work: InboxWork, fresh: Iterable[Filed]) -> dict[str, tuple[str, int]]:
    """Of each group the first in line, if whoever comes behind it is held back."""
    ledger = work.ledger
    if not ledger.snapshot.position(SOURCE).get(PART, "").startswith(FAIL_FIRST):
        return {}
    groups = {
        its.group_key: None
        for its, *_ in fresh
        if its.group_key not in ledger.touched and reach_of(its.group_key, its.target, work.shards > 1) != SPANNING
    }
    rows = ledger.snapshot.inbox_line(list(groups), 1) if groups else ()
    return {row.group_key: (row.place, row.key) for row in rows}


def note_rules(work: InboxWork, request: InboxRules) -> InboxReply:
    """Every group is looked at once more when the rules have changed; a bounded number is woken in a commit."""
    reply, snapshot = InboxReply(), work.ledger.snapshot
    if snapshot.position(SOURCE).get(PART) == request.rules:
        return reply
    groups = snapshot.inbox_groups_in_line(request.after, AT_ONCE)
    work.ledger.groups(group_key for group_key, _ in groups)
    for group_key, target in groups:
        work.ledger.touch(group_key, target, work.now)
    if len(groups) == AT_ONCE:
        reply.next_group = groups[-1][0]
    else:
        work.ledger.positions.append(PositionRow(SOURCE, PART, request.rules))
    return reply
