"""The engine of a store on this machine: what a broker answers, as commands show it."""

from collections.abc import Mapping, Sequence
from typing import Any

from conjoin.cli.engine.port import Told, ToldPage, Variables
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import (
    ActivatedJob,
    CorrelatedMessage,
    CreatedInstance,
    Deployment,
    Done,
    Refusal,
)
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.policies_set import policies_as_json
from conjoin.runtime.explain.explain import explain, explain_named, wait_for_verdict
from conjoin.runtime.reading.lists import ListQuery, list_page
from conjoin.runtime.visibility.plain_values import to_plain


class OnStore:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    @property
    def now(self) -> int:
        return self.broker.now

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str) -> Deployment | Refusal:
        return self.broker.deploy(resources, tenant_id)

    def models(self) -> Sequence[Told]:
        found = sorted(self.broker.definitions.by_key.items())
        return [
            {
                "key": str(key),
                "process_id": it.process_id,
                "version": it.version,
                "name": it.plan.name,
                "tenant_id": it.tenant_id,
            }
            for key, it in found
        ]

    def create_instance(
        self, process_id: str, variables: Variables, version: int, business_id: str, tenant_id: str
    ) -> CreatedInstance | Refusal:
        return self.broker.create_instance(process_id, variables, version, business_id, tenant_id)

    def cancel_instance(self, key: int) -> Done | Refusal:
        return self.broker.cancel_instance(key)

    def set_variables(self, key: int, variables: Variables, local: bool) -> Done | Refusal:
        return self.broker.set_variables(key, variables, local)

    def resolve_incident(self, key: int) -> Done | Refusal:
        return self.broker.resolve_incident(key)

    def publish(self, message: NewMessage, wait_ms: int | None) -> Told | Refusal:
        published = self.broker.publish(message)
        if isinstance(published, Refusal):
            return published
        if wait_ms is None:
            return self.explain(published.key)
        became = wait_for_verdict(self.broker, published.key, wait_ms / 1_000)
        return became if isinstance(became, Refusal) else became.as_json()

    def correlate(self, message: NewMessage) -> CorrelatedMessage | Refusal:
        return self.broker.correlate(message)

    def explain(self, key: int) -> Told | Refusal:
        found = explain(self.broker, key)
        return found if isinstance(found, Refusal) else found.as_json()

    def explain_unsent(self, message: NewMessage) -> Told:
        return explain_named(self.broker, message).as_json()

    def broadcast_signal(self, name: str, variables: Variables, tenant_id: str) -> Done | Refusal:
        return self.broker.broadcast_signal(name, variables, tenant_id)

    def activate_jobs(
        self, type_: str, limit: int, worker: str, timeout_ms: int, tenant_id: str
    ) -> Sequence[ActivatedJob] | Refusal:
        return self.broker.activate_jobs(type_, limit, worker, timeout_ms, tenant_id)

    def complete_job(self, key: int, variables: Variables) -> Done | Refusal:
        return self.broker.complete_job(key, variables)

    def fail_job(self, key: int, retries: int, message: str, backoff_ms: int) -> Done | Refusal:
        return self.broker.fail_job(key, retries, message, backoff_ms)

    def throw_error(self, key: int, code: str, message: str, variables: Variables) -> Done | Refusal:
        return self.broker.throw_error(key, code, message, variables)

    def update_retries(self, key: int, retries: int) -> Done | Refusal:
        return self.broker.update_retries(key, retries)

    def page(self, what: str, asked: ListQuery) -> ToldPage:
        found = list_page(self.broker, what, asked)
        return ToldPage([to_plain(item) for item in found.items], found.after)

    def retry_set_aside(self, key: int) -> Done | Refusal:
        return self.broker.retry_set_aside(key)

    def delete_set_aside(self, key: int) -> Done | Refusal:
        return self.broker.delete_set_aside(key)

    def policies(self) -> Told:
        return policies_as_json(self.broker)

    def set_policy(self, name: str, policy: Mapping[str, Any]) -> int:
        self.broker.catalog.set_policy(name, policy, self.broker.now)
        return self.broker.catalog.view().version
