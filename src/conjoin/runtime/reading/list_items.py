"""What lists are made of: one plain record a row, with the names that people use. Instants end in `_at`."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.messages import read_message
from conjoin.runtime.explain.explanation import Attempt, attempts_of, storage_of
from conjoin.runtime.reading.instances import elements_of, shown_text
from conjoin.runtime.run.set_aside import MAIL
from conjoin.runtime.run.travels import order_text
from conjoin.runtime.visibility.hiding import MARK
from conjoin.store import tables as t
from conjoin.store.rows import (
    DeadLetterRow,
    IncidentRow,
    InstanceRow,
    JobRow,
    MessageRow,
    SetAsideRow,
    SubscriptionRow,
)


class MessageItem(NamedTuple):
    """Verdict and storage are those of the last commit that touched it; `explain` has those of now."""

    key: int
    name: str
    correlation_key: str
    tenant_id: str
    message_id: str
    business_id: str
    published_at: int
    deadline_at: int
    verdict: str
    reason: str
    decided_at: int
    storage: str
    attempts: Sequence[Attempt]


class SubscriptionItem(NamedTuple):
    """`state` is open, busy while a message is on its way to it, or closed."""

    key: int
    name: str
    correlation_key: str
    tenant_id: str
    business_id: str
    process_id: str
    instance_key: int
    element_id: str
    interrupting: bool
    opened_at: int
    closed_at: int | None
    state: str


class InstanceItem(NamedTuple):
    """`state` is active, completed or terminated; `started` by what: command, message, call, timer or signal."""

    key: int
    process_id: str
    version: int
    tenant_id: str
    business_id: str
    state: str
    started: str
    parent_key: int | None
    started_at: int
    ended_at: int | None
    incidents: int


class IncidentItem(NamedTuple):
    key: int
    process_id: str
    tenant_id: str
    instance_key: int
    element_id: str
    job_key: int | None
    error_type: str
    text: str


class JobItem(NamedTuple):
    key: int
    type: str
    state: str
    process_id: str
    tenant_id: str
    instance_key: int
    element_id: str
    retries: int
    worker: str
    due_at: int | None
    message: str


class DeadLetterItem(NamedTuple):
    """`row` is what stood there, as text."""

    key: int
    source: str
    part: str
    position: int
    reason: str
    text: str
    found_at: int
    row: str


def dead_letter_items(broker: Broker, rows: Sequence[DeadLetterRow]) -> Iterator[DeadLetterItem]:
    for row in rows:
        raw = broker.hiding.payload(row.raw).decode("utf-8", "replace")
        text = broker.hiding.text(row.text, row.raw)
        yield DeadLetterItem(row.key, row.source, row.part, row.position, row.reason, text, row.at, raw)


class SetAsideItem(NamedTuple):
    """`item` is the key of the timer, job, message or model; of mail, its number in the outbox of `from_shard`.

    `order` is what mail asks for. `next_try_at`: when it is tried again by itself.
    """

    key: int
    kind: str
    item: str
    from_shard: int | None
    tenant: str
    instance_key: int | None
    since_at: int
    tried_at: int
    attempts: int
    next_try_at: int | None
    state: str
    reason: str
    order: str


def set_aside_items(broker: Broker, rows: Sequence[SetAsideRow]) -> Iterator[SetAsideItem]:
    instances = _instances(broker, rows) if broker.hiding.is_active else {}
    for row in rows:
        which = (row.key, row.kind, str(row.item_key), row.sender if row.kind == MAIL else None)
        its = instances.get(row.instance_key)
        quoted = [it.variables for it in elements_of(its)] if its is not None else []
        reason = broker.hiding.text(row.reason, (row.command or "").encode(), *quoted)
        when = (row.since, row.tried_at, row.attempts, row.next_try_at)
        order = _order_name(read_json(order_text(row.command))) if row.command else ""
        yield SetAsideItem(*which, row.tenant_id, row.instance_key or None, *when, row.state, reason, order)


def _order_name(said: Any) -> str:
    """Without what it carries."""
    name = str(said[0])
    return _order_name(said[3]) if name == "ForKey" else name


def message_items(broker: Broker, rows: Sequence[MessageRow]) -> Iterator[MessageItem]:
    policy_of = broker.catalog.view().policy_of
    for row in rows:
        message = read_message(row, policy_of(row.name, row.policy_version), {})[0]
        which = (row.name, row.correlation_key, row.tenant_id, row.message_id, row.business_id)
        fate = (row.verdict, row.reason, row.decided_at, storage_of(message), attempts_of(message))
        yield MessageItem(row.key, *which, row.published_at, row.deadline, *fate)


def subscription_items(broker: Broker, rows: Sequence[SubscriptionRow]) -> Iterator[SubscriptionItem]:
    for row in rows:
        state = "closed" if row.closed_at is not None else "busy" if row.busy_with else "open"
        which = (row.name, row.correlation_key, row.tenant_id, row.business_id, row.process_id)
        where = (row.instance_key, row.element_id, bool(row.interrupting))
        yield SubscriptionItem(row.key, *which, *where, row.opened_at, row.closed_at, state)


def instance_items(broker: Broker, rows: Sequence[InstanceRow]) -> Iterator[InstanceItem]:
    for row in rows:
        which = (row.process_id, row.version, row.tenant_id, row.business_id)
        came = (row.state, row.started, row.parent_key or None)
        yield InstanceItem(row.key, *which, *came, row.started_at, row.ended_at, row.incidents)


def incident_items(broker: Broker, rows: Sequence[IncidentRow]) -> Iterator[IncidentItem]:
    instances = _instances(broker, rows)
    for row in rows:
        text = _shown(broker, row.text, instances.get(row.instance_key))
        said = (row.instance_key, row.element_id, row.job_key or None, row.error_type, text)
        process_id, tenant_id = _of(instances, row.instance_key)
        yield IncidentItem(row.key, process_id, tenant_id, *said)


def job_items(broker: Broker, rows: Sequence[JobRow]) -> Iterator[JobItem]:
    instances = _instances(broker, rows)
    for row in rows:
        which = (row.key, row.type, row.state, *_of(instances, row.instance_key))
        text = _shown(broker, row.message, instances.get(row.instance_key))
        said = (row.instance_key, row.element_id, row.retries, row.worker, row.due_at, text)
        yield JobItem._make((*which, *said))


def _shown(broker: Broker, text: str, instance: InstanceRow | None) -> str:
    """Nobody can say what a text quotes whose instance is gone."""
    if not broker.hiding.is_active or not text:
        return text
    return MARK if instance is None else shown_text(broker.hiding, text, instance)


def _instances(broker: Broker, rows: Sequence[Any]) -> dict[int, InstanceRow]:
    keys = tuple({row.instance_key for row in rows})
    return {row.key: row for row in broker.store.rows(t.INSTANCE, {"key": keys}, None, len(keys))} if keys else {}


def _of(instances: dict[int, InstanceRow], key: int) -> tuple[str, str]:
    """Process and tenant; an instance may have ended between two looks."""
    row = instances.get(key)
    return ("", "") if row is None else (row.process_id, row.tenant_id)
