"""What commands ask of an engine. A business no is answered as a `Refusal`; what is shown are plain objects.

`on_store` answers from a store that this process opens, `through_server` from a server, with its roles and its audit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from conjoin.runtime.client_api.answers import (
    ActivatedJob,
    CorrelatedMessage,
    CreatedInstance,
    Deployment,
    Done,
    Refusal,
)
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.reading.lists import ListQuery

Told = dict[str, Any]
Variables = Mapping[str, Any]


class ToldPage(NamedTuple):
    """`after` is where the next page goes on; None on the last one."""

    items: Sequence[Told]
    after: str | None


class CommandEngine(Protocol):
    @property
    def now(self) -> int:
        """Microseconds."""

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str) -> Deployment | Refusal: ...

    def models(self) -> Sequence[Told]:
        """Every version that was deployed."""

    def create_instance(
        self, process_id: str, variables: Variables, version: int, business_id: str, tenant_id: str
    ) -> CreatedInstance | Refusal:
        """A version of 0 is the latest."""

    def cancel_instance(self, key: int) -> Done | Refusal: ...
    def set_variables(self, key: int, variables: Variables, local: bool) -> Done | Refusal: ...
    def resolve_incident(self, key: int) -> Done | Refusal: ...

    def publish(self, message: NewMessage, wait_ms: int | None) -> Told | Refusal:
        """What became of it, as `explain` says it; waited for, if asked."""

    def correlate(self, message: NewMessage) -> CorrelatedMessage | Refusal: ...
    def explain(self, key: int) -> Told | Refusal: ...
    def explain_unsent(self, message: NewMessage) -> Told | Refusal: ...
    def broadcast_signal(self, name: str, variables: Variables, tenant_id: str) -> Done | Refusal: ...

    def activate_jobs(
        self, type_: str, limit: int, worker: str, timeout_ms: int, tenant_id: str
    ) -> Sequence[ActivatedJob] | Refusal: ...

    def complete_job(self, key: int, variables: Variables) -> Done | Refusal: ...
    def fail_job(self, key: int, retries: int, message: str, backoff_ms: int) -> Done | Refusal: ...
    def throw_error(self, key: int, code: str, message: str, variables: Variables) -> Done | Refusal: ...
    def update_retries(self, key: int, retries: int) -> Done | Refusal: ...

    def page(self, what: str, asked: ListQuery) -> ToldPage | Refusal:
        """`what` is one of the lists of a store, such as messages."""

    def retry_set_aside(self, key: int) -> Done | Refusal: ...
    def delete_set_aside(self, key: int) -> Done | Refusal: ...
    def policies(self) -> Told | Refusal: ...

    def set_policy(self, name: str, policy: Mapping[str, Any]) -> int | Refusal:
        """The version of the catalog that has it."""
