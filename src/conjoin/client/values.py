"""What goes to a server and comes from it, as values. Keys are numbers, instants are texts (ISO 8601, UTC)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

DEFAULT_TENANT = "<default>"


@dataclass(frozen=True, slots=True)
class Publication:
    """`ttl_ms` None is the time to live of its policy; without an id the client makes one."""

    name: str
    key: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    ttl_ms: int | None = None
    id: str = ""
    tenant: str = ""
    business_id: str = ""
    replaces: int | None = None
    """The key of a lost message, in place of which this one is sent; not in bulk."""


class DeliveryAttempt(msgspec.Struct, frozen=True):
    """Who was given a message; `why` it was given back."""

    outcome: str
    process: str = ""
    instance: int | None = None
    element: str = ""
    offered_at: str = ""
    why: str = ""


class Fate(msgspec.Struct, frozen=True):
    """What became of a message; `instances` are those that have it."""

    key: int
    id: str
    verdict: str
    reason: str
    sentence: str
    storage: str
    attempts: tuple[DeliveryAttempt, ...] = ()

    @property
    def instances(self) -> tuple[int, ...]:
        having = (it.instance for it in self.attempts if it.outcome in ("taken", "started"))
        return tuple(instance for instance in having if instance is not None)


class BulkResult(msgspec.Struct, frozen=True):
    """What became of one of many. `error`: it was not published, and why; a `key` of 0 is not known."""

    message: Publication
    key: int = 0
    verdict: str = ""
    reason: str = ""
    error: str = ""


class MessageExplanation(msgspec.Struct, frozen=True):
    """Why, in one sentence and as data."""

    verdict: str
    reason: str
    sentence: str
    decided_at: str = ""
    storage: str = ""
    parameters: dict[str, Any] = {}
    attempts: tuple[DeliveryAttempt, ...] = ()
    near_misses: tuple[dict[str, Any], ...] = ()
    seen_at: str | None = None
    was_kept: bool = False
    """Whether what is near was seen when the message was lost; else it is what is near now."""
    near_now: dict[str, Any] | None = None


class FoundMessage(msgspec.Struct, frozen=True):
    key: int
    name: str
    correlation_key: str
    tenant_id: str
    message_id: str
    business_id: str
    published_at: str
    deadline_at: str | None
    verdict: str
    reason: str
    storage: str
    attempts: tuple[DeliveryAttempt, ...] = ()
    replaced_by: int | None = None
    """The message that was sent in place of a lost one."""


class _Camel(msgspec.Struct, frozen=True, rename="camel"):
    """As `/v2` spells it."""


class CorrelationResult(_Camel, frozen=True):
    message_key: int
    process_instance_key: int


class ProcessVersion(_Camel, frozen=True):
    process_definition_id: str
    process_definition_version: int
    process_definition_key: int
    resource_name: str


class ProcessInstance(_Camel, frozen=True):
    process_instance_key: int
    process_definition_id: str
    process_definition_version: int
    process_definition_key: int
    tenant_id: str
    variables: dict[str, Any] = {}
    """Those it ended with, if its end was waited for."""


class FoundInstance(_Camel, frozen=True):
    process_instance_key: int
    process_definition_id: str
    process_definition_version: int
    state: str
    start_date: str
    has_incident: bool
    tenant_id: str
    end_date: str | None = None
    business_id: str | None = None


class ProcessIncident(_Camel, frozen=True):
    incident_key: int
    process_instance_key: int
    process_definition_id: str
    element_id: str
    error_type: str
    error_message: str
    job_key: int | None = None


class WorkerJob(_Camel, frozen=True):
    job_key: int
    type: str
    process_instance_key: int
    process_definition_id: str
    element_id: str
    custom_headers: dict[str, str]
    retries: int
    deadline: int
    variables: dict[str, Any]
    tenant_id: str


class FoundJob(_Camel, frozen=True):
    job_key: int
    type: str
    state: str
    worker: str
    retries: int
    process_definition_id: str
    process_instance_key: int
    element_id: str
    tenant_id: str
    deadline: str | None = None
    error_message: str | None = None


class FoundUserTask(_Camel, frozen=True):
    user_task_key: int
    state: str
    process_definition_id: str
    process_instance_key: int
    element_id: str
    tenant_id: str
    name: str | None = None
    assignee: str | None = None
    candidate_groups: tuple[str, ...] = ()
    candidate_users: tuple[str, ...] = ()
    due_date: str | None = None
    priority: int = 50


class FoundElement(_Camel, frozen=True):
    element_instance_key: int
    element_id: str
    type: str
    state: str
    has_incident: bool
    process_definition_id: str
    process_instance_key: int
    start_date: str
    tenant_id: str
    end_date: str | None = None


class FoundProcess(_Camel, frozen=True):
    process_definition_key: int
    process_definition_id: str
    version: int
    resource_name: str
    tenant_id: str
    name: str | None = None
    version_tag: str | None = None
