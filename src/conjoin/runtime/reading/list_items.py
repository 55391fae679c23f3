"""What lists are made of: one plain record a row, with the names that people use. Instants end in `_at`."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.messages import read_message
from conjoin.runtime.explain.explanation import Attempt, attempts_of, storage_of
from conjoin.runtime.explain.kept.replacing import replaced_by
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.instances import elements_of, shown_text
from conjoin.runtime.run.limits import order_text
from conjoin.runtime.run.set_aside import MAIL
from conjoin.runtime.visibility.hiding import MARK
from conjoin.store.rows import InstanceRow

_Rows = Sequence[Any]


class MessageItem(NamedTuple):
    """Verdict and storage are those of the last commit that touched it; `explain` has those of now.
    `replaced_by` is the message that was sent in place of a lost one.
    """

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
    replaced_by: int | None


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


class SetAsideItem(NamedTuple):
    """`item` is the key of the timer, job, message or model; of mail, its number in the outbox of `from_shard`.

    `order` is the kind of order that mail carries. `next_try_at`: when it is retried by itself.
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


def _item(type_: Any, row: Any, /, **others: Any) -> Any:
    """The columns with the names of the fields, and the others."""
    return type_(**{name: getattr(row, name) for name in type_._fields if name not in others}, **others)


def message_items(broker: Broker, rows: _Rows) -> Iterator[MessageItem]:
    policy_of = broker.catalog.view().policy_of
    replaced = replaced_by(broker, rows)
    for row in rows:
        message = read_message(row, policy_of(row.name, row.policy_version), {})[0]
        fate = {"storage": storage_of(message), "attempts": attempts_of(message)}
        yield _item(MessageItem, row, deadline_at=row.deadline, replaced_by=replaced.get(row.key), **fate)


def subscription_items(broker: Broker, rows: _Rows) -> Iterator[SubscriptionItem]:
    for row in rows:
        state = "closed" if row.closed_at is not None else "busy" if row.busy_with else "open"
        yield _item(SubscriptionItem, row, interrupting=bool(row.interrupting), state=state)


def instance_items(broker: Broker, rows: _Rows) -> Iterator[InstanceItem]:
    return (_item(InstanceItem, row, parent_key=row.parent_key or None) for row in rows)


def incident_items(broker: Broker, rows: _Rows) -> Iterator[IncidentItem]:
    for row, its, owner in _with_instances(broker, rows):
        text = _shown(broker, row.text, its)
        yield _item(IncidentItem, row, job_key=row.job_key or None, text=text, **owner)


def job_items(broker: Broker, rows: _Rows) -> Iterator[JobItem]:
    for row, its, owner in _with_instances(broker, rows):
        yield _item(JobItem, row, message=_shown(broker, row.message, its), **owner)


def _with_instances(broker: Broker, rows: _Rows) -> Iterator[tuple[Any, InstanceRow | None, dict[str, str]]]:
    """Each with its instance, and process and tenant of that; it may have ended since the rows were read."""
    instances = rows_with(broker, "instance", (row.instance_key for row in rows))
    for row in rows:
        its = instances.get(row.instance_key)
        process_id, tenant_id = ("", "") if its is None else (its.process_id, its.tenant_id)
        yield row, its, {"process_id": process_id, "tenant_id": tenant_id}


def _shown(broker: Broker, text: str, instance: InstanceRow | None) -> str:
    """What a text quotes cannot be known once its instance is gone."""
    if not broker.hiding.is_active or not text:
        return text
    return MARK if instance is None else shown_text(broker.hiding, text, instance)


def dead_letter_items(broker: Broker, rows: _Rows) -> Iterator[DeadLetterItem]:
    for row in rows:
        raw = broker.hiding.payload(row.raw).decode("utf-8", "replace")
        yield _item(DeadLetterItem, row, text=broker.hiding.text(row.text, row.raw), found_at=row.at, row=raw)


def set_aside_items(broker: Broker, rows: _Rows) -> Iterator[SetAsideItem]:
    instances = rows_with(broker, "instance", (row.instance_key for row in rows)) if broker.hiding.is_active else {}
    for row in rows:
        its = instances.get(row.instance_key)
        quoted = [it.variables for it in elements_of(its)] if its is not None else []
        yield _item(
            SetAsideItem,
            row,
            item=str(row.item_key),
            from_shard=row.sender if row.kind == MAIL else None,
            tenant=row.tenant_id,
            instance_key=row.instance_key or None,
            since_at=row.since,
            reason=broker.hiding.text(row.reason, (row.command or "").encode(), *quoted),
            order=_order_name(read_json(order_text(row.command))) if row.command else "",
        )


def _order_name(order: Any) -> str:
    """Without what it carries."""
    name = str(order[0])
    return _order_name(order[3]) if name == "ForKey" else name
