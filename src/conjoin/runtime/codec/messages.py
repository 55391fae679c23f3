"""A message as a row. What the rules know of it beyond its columns is its `record`: a JSON list, by position.

Flags, marks, who has it, who gave it back, what ended it. Who has it is written with enough of the subscription or
start event to show it later, when those are long gone.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conjoin.kernel.catalog import StartSubscription
from conjoin.kernel.correlation import Message, Subscription
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.uniqueness import remembered_until
from conjoin.kernel.instants import NEVER
from conjoin.kernel.policies import Policy
from conjoin.kernel.verdicts.verdicts import Verdict
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.store.rows import MessageRow

_STORED, _HELD, _SYNC, _REMEMBERED, _SUBSCRIPTIONS_ONLY = 1, 2, 4, 8, 16
_TAKEN, _STARTED = range(2)
_ENDED = (e.MessageExpired, e.MessageDiscarded, e.MessageRefused)
PolicyOf = Callable[[str, int], Policy]
"""Of a message name, in a version of the catalog."""
Subscriptions = Mapping[int, Subscription]
"""Those that are loaded: the one that a message was given to is the same object."""


@dataclass(slots=True)
class Standing:
    """What follows about a message from the state around it: kept in queues, not in the message."""

    held: bool = False
    remembered: bool = False
    on_its_way: bool = False


NOTHING_SPECIAL = Standing()


def message_row(
    place: tuple[str, str], message: Message, standing: Standing, verdict: Verdict, version: int
) -> MessageRow:
    """`version` is that of the policies that it was accepted under."""
    live = message.stored or standing.held or standing.remembered or standing.on_its_way
    due_at = NEVER
    if message.stored:
        due_at = message.deadline
    if standing.remembered:
        due_at = min(due_at, remembered_until(message))
    return MessageRow(
        message.key,
        *place,
        message.name,
        message.message_id,
        message.business_id,
        message.published_at,
        message.deadline,
        int(live),
        None if due_at == NEVER else due_at,
        version,
        verdict.verdict,
        verdict.reason,
        verdict.decided_at,
        json_text(message.payload),
        _record(message, standing),
    )


def _record(message: Message, standing: Standing) -> str:
    flags = message.stored * _STORED | standing.held * _HELD | message.sync * _SYNC | standing.remembered * _REMEMBERED
    flags |= message.subscriptions_only * _SUBSCRIPTIONS_ONLY
    written = [
        flags,
        list(message.marks),
        [_target(target) for target in message.targets],
        _given_back(message.given_back),
        _end(message.ended),
    ]
    while len(written) > 1 and not written[-1]:
        written.pop()
    return json_text(written)


def _target(target: e.Target) -> tuple[Any, ...]:
    if isinstance(target, e.MessageCorrelated):
        return (_TAKEN, target.reason, target.at, *_who(target.subscription), _given_back(target.before))
    start = target.start
    which = (start.process_id, start.element_id, start.definition_key, start.from_at)
    return (_STARTED, target.reason, target.at, target.instance_id, which, target.locks, target.freed_by)


def _who(its: Subscription) -> tuple[Any, ...]:
    return (its.key, its.rank, its.process_id, its.instance_id, its.element_id, its.interrupting, its.opened_at)


def _given_back(event: e.CorrelationGivenBack | None) -> tuple[Any, ...] | None:
    return None if event is None else (*_who(event.subscription), event.at, event.why)


def _end(event: e.MessageEnd | None) -> tuple[Any, ...] | None:
    if event is None:
        return None
    why = event.parameters if isinstance(event, e.MessageRefused) else event.near_misses
    return (_ENDED.index(type(event)), event.at, event.reason, why)


def read_message(row: MessageRow, policy: Policy, loaded: Subscriptions) -> tuple[Message, Standing]:
    message = Message(
        row.key,
        row.name,
        row.published_at,
        row.deadline,
        policy,
        row.message_id,
        row.business_id,
        read_json(row.variables),
    )
    written = read_json(row.record)
    written += [None] * (5 - len(written))
    flags, marks, targets, given_back, end = written
    message.stored = bool(flags & _STORED)
    message.sync = bool(flags & _SYNC)
    message.subscriptions_only = bool(flags & _SUBSCRIPTIONS_ONLY)
    message.marks = tuple(marks or ())
    message.targets = [_read_target(message, target, row.tenant_id, loaded) for target in targets or ()]
    message.given_back = _read_given_back(message, given_back, loaded)
    if end is not None:
        kind, at, reason, why = end
        message.ended = _ENDED[kind](message, at, reason, why)
    return message, Standing(bool(flags & _HELD), bool(flags & _REMEMBERED))


def _read_target(message: Message, values: list[Any], tenant_id: str, loaded: Subscriptions) -> e.Target:
    kind, reason, at, *rest = values
    if kind == _TAKEN:
        *who, before = rest
        subscription = _subscription(message.name, who, loaded)
        return e.MessageCorrelated(message, subscription, at, reason, _read_given_back(message, before, loaded))
    instance_id, (process_id, element_id, definition_key, from_at), locks, freed_by = rest
    start = StartSubscription(
        process_id, message.name, tenant_id, element_id, from_at=from_at, definition_key=definition_key
    )
    return e.InstanceStarted(message, start, instance_id, at, reason, locks, freed_by)


def _subscription(name: str, who: list[Any], loaded: Subscriptions) -> Subscription:
    found = loaded.get(who[0])
    if found is not None:
        return found
    key, rank, process_id, instance_id, element_id, interrupting, opened_at = who
    gone = Subscription(key, rank, name, process_id, instance_id, element_id, opened_at, interrupting)
    gone.closed = True
    return gone


def _read_given_back(
    message: Message, values: list[Any] | None, loaded: Subscriptions
) -> e.CorrelationGivenBack | None:
    if values is None:
        return None
    *who, at, why = values
    return e.CorrelationGivenBack(_subscription(message.name, who, loaded), message, at, why)


def stored_answer(rows: Iterable[MessageRow], policy_of: PolicyOf) -> e.Event | None:
    """What became of a synchronous message, by its row, when another process has brought it about.

    None while it is still undecided, or on its way to a subscription that has not answered.
    """
    for row in rows:
        message, _ = read_message(row, policy_of(row.name, row.policy_version), {})
        if isinstance(message.ended, e.MessageRefused):
            return message.ended
        if message.targets and not message.sync:
            first = message.targets[0]
            return e.MessageAnswered(message, first.instance_id, first.at)
    return None
