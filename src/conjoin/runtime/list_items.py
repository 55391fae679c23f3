"""What lists are made of: one plain record a row, with the names that people use. Instants end in `_at`."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from conjoin.runtime.broker import Broker
from conjoin.runtime.encoding.messages import read_message
from conjoin.runtime.explanation import Attempt, attempts_of, storage_of
from conjoin.store import tables as t
from conjoin.store.rows import DeadLetterRow, IncidentRow, InstanceRow, JobRow, MessageRow, SubscriptionRow


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
        raw = row.raw.decode("utf-8", "replace")
        yield DeadLetterItem(row.key, row.source, row.part, row.position, row.reason, row.text, row.at, raw)


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
        said = (row.instance_key, row.element_id, row.job_key or None, row.error_type, row.text)
        process_id, tenant_id = _of(instances, row.instance_key)
        yield IncidentItem(row.key, process_id, tenant_id, *said)


def job_items(broker: Broker, rows: Sequence[JobRow]) -> Iterator[JobItem]:
    instances = _instances(broker, rows)
    for row in rows:
        which = (row.key, row.type, row.state, *_of(instances, row.instance_key))
        said = (row.instance_key, row.element_id, row.retries, row.worker, row.due_at, row.message)
        yield JobItem._make((*which, *said))


def _instances(broker: Broker, rows: Sequence[Any]) -> dict[int, InstanceRow]:
    keys = tuple({row.instance_key for row in rows})
    return {row.key: row for row in broker.store.rows(t.INSTANCE, {"key": keys}, None, len(keys))} if keys else {}


def _of(instances: dict[int, InstanceRow], key: int) -> tuple[str, str]:
    """Process and tenant; an instance may have ended between two looks."""
    row = instances.get(key)
    return ("", "") if row is None else (row.process_id, row.tenant_id)
