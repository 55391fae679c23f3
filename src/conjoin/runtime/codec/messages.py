"""A message as a row. What the rules know of it beyond its columns is its `record`: a JSON list, by position.

Flags, marks, who has it, who gave it back, what ended it. Who has it is written with enough of the subscription or
start event to tell it later, when those are long gone.
"""

from collections.abc import Mapping
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


class Standing:
    """What the state around a message says about it: kept in queues, not in the message."""

    __slots__ = ("held", "on_its_way", "remembered")

    def __init__(self, held: bool = False, remembered: bool = False, on_its_way: bool = False) -> None:
        self.held = held
        self.remembered = remembered
        self.on_its_way = on_its_way


NOTHING_SPECIAL = Standing()


def message_row(
    place: tuple[str, str], message: Message, standing: Standing, verdict: Verdict, version: int
) -> MessageRow:
    """`version` is that of the policies that it was accepted under."""
    live = message.stored or standing.held or standing.remembered or standing.on_its_way
    return MessageRow(
        message.key,
        *place,
        message.name,
        message.message_id,
        message.business_id,
        message.published_at,
        message.deadline,
        int(live),
        _due_at(message, standing) if live else None,
        version,
        verdict.verdict,
        verdict.reason,
        verdict.decided_at,
        json_text(message.payload),
        _record(message, standing),
    )


def _due_at(message: Message, standing: Standing) -> int | None:
    """When something happens to it by itself."""
    ends = []
    if message.stored:
        ends.append(message.deadline)
    if standing.remembered:
        ends.append(remembered_until(message))
    due_at = min(ends, default=NEVER)
    return None if due_at == NEVER else due_at


def _record(message: Message, standing: Standing) -> str:
    flags = message.stored * _STORED | standing.held * _HELD | message.sync * _SYNC | standing.remembered * _REMEMBERED
    flags |= message.subscriptions_only * _SUBSCRIPTIONS_ONLY
    said = [
        flags,
        list(message.marks),
        [_target(target) for target in message.targets],
        _given_back(message.given_back),
        _end(message.ended),
    ]
    while len(said) > 1 and not said[-1]:
        said.pop()
    return json_text(said)


def _target(target: Any) -> tuple[Any, ...]:
    if type(target) is e.MessageCorrelated:
        before = _given_back(target.before)
        return (_TAKEN, target.reason, target.at, *_who(target.subscription), before)
    start: StartSubscription = target.start
    which = (start.process_id, start.element_id, start.definition_key, start.from_at)
    return (_STARTED, target.reason, target.at, target.instance_id, which, target.locks, target.freed_by)


def _who(subscription: Subscription) -> tuple[Any, ...]:
    its = subscription
    return (its.key, its.rank, its.process_id, its.instance_id, its.element_id, its.interrupting, its.opened_at)


def _given_back(event: e.CorrelationGivenBack | None) -> tuple[Any, ...] | None:
    return None if event is None else (*_who(event.subscription), event.at, event.why)


def _end(event: Any) -> tuple[Any, ...] | None:
    if event is None:
        return None
    said = event.parameters if type(event) is e.MessageRefused else event.near_misses
    return (_ENDED.index(type(event)), event.at, event.reason, said)


Subscriptions = Mapping[int, Subscription]
"""Those that are loaded: what a message was given to is the same object."""


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
    said = read_json(row.record)
    said += [None] * (5 - len(said))
    flags, marks, targets, given_back, end = said
    message.stored = bool(flags & _STORED)
    message.sync = bool(flags & _SYNC)
    message.subscriptions_only = bool(flags & _SUBSCRIPTIONS_ONLY)
    message.marks = tuple(marks or ())
    message.targets = [_read_target(message, target, row.tenant_id, loaded) for target in targets or ()]
    message.given_back = _read_given_back(message, given_back, loaded)
    message.ended = _read_end(message, end)
    return message, Standing(bool(flags & _HELD), bool(flags & _REMEMBERED))


def _read_target(message: Message, said: list[Any], tenant_id: str, loaded: Subscriptions) -> Any:
    kind, reason, at, *rest = said
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


def _read_given_back(message: Message, said: list[Any] | None, loaded: Subscriptions) -> Any:
    if said is None:
        return None
    *who, at, why = said
    return e.CorrelationGivenBack(_subscription(message.name, who, loaded), message, at, why)


def _read_end(message: Message, said: list[Any] | None) -> Any:
    if said is None:
        return None
    kind, at, reason, told = said
    return _ENDED[kind](message, at, reason, told)
