"""Answers of an engine to its clients. A business no is a value with a code, never raised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conjoin.errors import Problem

CODES = ("NOT_FOUND", "ALREADY_EXISTS", "INVALID_ARGUMENT", "INVALID_STATE")


@dataclass(frozen=True, slots=True)
class Refusal:
    """`code` is one of `CODES`; a serving process has some more of its own."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class DeployedProcess:
    key: int
    process_id: str
    version: int
    resource: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Deployment:
    key: int
    processes: Sequence[DeployedProcess]
    warnings: Sequence[Problem] = ()
    """How a model was read where it is incomplete, or contradicts itself."""


@dataclass(frozen=True, slots=True)
class CreatedInstance:
    key: int
    process_id: str
    version: int
    definition_key: int
    tenant_id: str = "<default>"
    business_id: str = ""


@dataclass(frozen=True, slots=True)
class InstanceResult:
    """An instance that has completed, and the variables it ended with."""

    instance: CreatedInstance
    variables: Mapping[str, Any]


@dataclass(slots=True)
class PublishedMessage:
    key: int


@dataclass(frozen=True, slots=True)
class CorrelatedMessage:
    key: int
    instance_key: int


@dataclass(frozen=True, slots=True)
class ActivatedJob:
    """`variables` are all that its element sees."""

    key: int
    type: str
    instance_key: int
    process_id: str
    version: int
    element_id: str
    element_key: int
    retries: int
    worker: str
    deadline: int
    headers: Mapping[str, str]
    variables: Mapping[str, Any]
    definition_key: int = 0
    tenant_id: str = "<default>"
    business_id: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The order was carried out; there is nothing to say about it."""


DONE = Done()
