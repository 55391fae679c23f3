"""The rows of a shard and of the catalog: one class a table, its fields the columns, in order.

Some rows are the state itself (message, subscription, lock, instance, start timers), others an index to it (job,
timer, incident, signal, scope: they say in which instance to look). Instants are microseconds, `NEVER` included.

Where an instance waits for one message, as most do, its subscription stands in its own row (`wait_...`), so that a
message that takes it on writes one row. All other subscriptions stand apart. The view `subscription` shows both alike.
"""

from typing import NamedTuple


class MessageRow(NamedTuple):
    """`live`: the rules may still look at it. `record` is what else they know of it, as JSON."""

    key: int
    tenant_id: str
    correlation_key: str
    name: str
    message_id: str
    business_id: str
    published_at: int
    deadline: int
    live: int
    due_at: int | None
    """When it leaves the buffer or its id is forgotten; None when nothing more will happen by itself."""
    policy_version: int
    """Of the catalog; turned over (negative) for a message that the inbox has offered under policies of its own."""
    verdict: str
    reason: str
    decided_at: int
    variables: str
    record: str


class EvidenceRow(NamedTuple):
    """What was near when a message was lost, as JSON of some hundred bytes (`runtime/explain/kept/evidence.py`); which
    message was sent in place of it, and it in place of which; 0 where there is none.
    """

    message_key: int
    seen_at: int
    """0: nobody has looked."""
    near: str
    replaced_by: int
    replaces: int


class MessagePartRow(NamedTuple):
    """Messages whose names begin so are among those with keys of this part; the empty beginning is that of all."""

    name_start: str
    part_number: int


class SubscriptionRow(NamedTuple):
    """`closed_at` is null while it is open; the last one closed of each name is kept for explanations.

    `crowd` is where it stands among very many on its key, and empty where few wait.
    """

    tenant_id: str
    correlation_key: str
    key: int
    name: str
    process_id: str
    instance_key: int
    element_key: int
    element_id: str
    opened_at: int
    interrupting: int
    business_id: str
    busy_with: int
    closed_at: int | None
    crowd: str = ""


class WaitingRow(NamedTuple):
    """Who waits, as explanations read it. `wait_key` is 0 for one that has stopped; those of its instance before it are
    `closed_waits`. `started_at` is 0 where it is not known.
    """

    correlation_key: str
    name: str
    process_id: str
    instance_key: int
    element_id: str
    opened_at: int
    started_at: int
    wait_key: int
    closed_waits: str


class LockRow(NamedTuple):
    tenant_id: str
    correlation_key: str
    process_id: str
    instance_key: int
    since: int
    message_key: int


class InstanceRow(NamedTuple):
    """`tree_key` is the outermost instance; `body` everything alive inside, as JSON; `state` active, completed, ...

    The rest is about subscriptions without a row of their own, on the correlation key `wait_on`: an open one, where
    `wait_key` is one, and those that were closed, the last one of each name, as a JSON list (`closed_waits`).
    """

    key: int
    tree_key: int
    definition_key: int
    process_id: str
    version: int
    tenant_id: str
    business_id: str
    started: str
    parent_key: int
    lock_key: str | None
    state: str
    started_at: int
    ended_at: int | None
    incidents: int
    body: str
    wait_on: str | None = None
    wait_key: int = 0
    wait_name: str = ""
    wait_element_key: int = 0
    wait_element_id: str = ""
    wait_opened_at: int = 0
    wait_interrupting: int = 0
    closed_waits: str = "[]"


class JobRow(NamedTuple):
    key: int
    instance_key: int
    element_key: int
    element_id: str
    tenant_id: str
    type: str
    state: str
    retries: int
    due_at: int | None
    """When it comes back by itself: the deadline of its worker, or the end of its back-off."""
    worker: str
    message: str


class TimerRow(NamedTuple):
    """`instance_key` is 0 for the timer of a start event, which is all there is of it."""

    key: int
    instance_key: int
    owner_key: int
    element_id: str
    due_at: int
    repetitions: int
    months: int
    microseconds: int
    tenant_id: str
    process_id: str


class IncidentRow(NamedTuple):
    key: int
    instance_key: int
    element_key: int
    element_id: str
    job_key: int
    error_type: str
    text: str


class SignalRow(NamedTuple):
    key: int
    instance_key: int
    tenant_id: str
    name: str


class ScopeRow(NamedTuple):
    """An element that is found by its key: one with others inside, or that has called an instance."""

    key: int
    instance_key: int


class OutboxRow(NamedTuple):
    """An order for another shard. `seq` counts what this shard ever sent."""

    seq: int
    receiver: int
    counter: int
    """How far the sender's keys had come: the receiver's must not look older."""
    command: str


class ReceivedRow(NamedTuple):
    """What was taken from another shard's outbox: everything up to `seq`."""

    sender: int
    seq: int


class PositionRow(NamedTuple):
    """How far a source was read on this shard: rows at or below it are not taken again."""

    source: str
    part: str
    position: str


class DeadLetterRow(NamedTuple):
    """A row of a source that never became a message: where it was, why, and its bytes."""

    key: int
    source: str
    part: str
    position: int
    reason: str
    text: str
    raw: bytes
    at: int


class SetAsideRow(NamedTuple):
    """What could not be carried out. `item_key` is that of the timer, job, message or model; of mail, its number.

    `sender` and `command` are those of mail, -1 and empty for the rest. `state`: waiting, or deleted by an operator.
    """

    key: int
    kind: str
    item_key: int
    sender: int
    tenant_id: str
    instance_key: int
    since: int
    tried_at: int
    attempts: int
    next_try_at: int | None
    """When it is tried again by itself; null when only an operator does."""
    state: str
    reason: str
    command: str


class InboxRow(NamedTuple):
    """A message of the inbox as it stands. Nullable instants: null is never, or not yet.

    `place` sorts as its group is ordered; `in_line`: it keeps its place there. `sort_value` is JSON, or empty.
    """

    key: int
    channel: str
    tenant_id: str
    message_id: str
    type: str
    name: str
    correlation_key: str
    target: str
    group_key: str
    place: str
    sort_value: str
    position: int
    event_at: int
    ingested_at: int
    grace_until: int
    expires_at: int | None
    state: str
    in_line: int
    attempts: int
    due_at: int | None
    """When something happens to it by itself, its group permitting."""
    next_retry_at: int | None
    tried_at: int | None
    error_kind: str
    error_text: str
    parked_for: str
    verdict: str
    reason: str
    decided_at: int | None
    taken_by: str
    message_key: int
    """The message as which our own engine was last offered it; 0 before."""
    lines: int
    """How many its history has."""


class InboxContentRow(NamedTuple):
    """What came in: `about` is type, encoding, headers and hint as JSON. It changes only when a person corrects it."""

    key: int
    about: str
    payload: bytes


class InboxAttemptRow(NamedTuple):
    """A line of a message's history: an attempt, or what a person did. `number` counts the lines."""

    inbox_key: int
    number: int
    at: int
    kind: str
    who: str
    verdict: str
    reason: str
    asked: str
    answered: str


class InboxGroupRow(NamedTuple):
    """A group in which something happens by itself, not before `due_at`. `reach` is who can deal with it.

    `version` is that of the commit that last touched it.
    """

    group_key: str
    reach: str
    due_at: int
    version: int


class LogRow(NamedTuple):
    """One commit: its commands with their times, and the events, compressed."""

    version: int
    catalog_version: int
    at: int
    block: bytes


class DefinitionRow(NamedTuple):
    key: int
    catalog_version: int
    tenant_id: str
    process_id: str
    version: int
    resource: str
    digest: str
    deployed_at: int


class ResourceRow(NamedTuple):
    """The file of a deployed model, by its digest."""

    digest: str
    content: bytes


class PolicyRow(NamedTuple):
    """What was set for a message name (or `*`), as JSON; the newest of a name is in force."""

    catalog_version: int
    name: str
    policy: str
    set_at: int
