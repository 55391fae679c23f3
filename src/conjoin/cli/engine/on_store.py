"""The engine of a store on this machine: what a broker answers, as commands show it. A business no is a `Refusal`.

It has the methods of `ThroughServer`, so that commands need not know which of the two they work on.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from conjoin.cli.printing import JsonObject
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain, explain_named, wait_for_verdict, what_became
from conjoin.runtime.explain.kept.evidence import keep_noted
from conjoin.runtime.explain.kept.replacing import note_replaced, unreplaceable
from conjoin.runtime.reading.lists import ListPage, ListQuery, list_page
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.times.iso8601 import instant_text

OPEN = ("instances", "subscriptions", "buffered", "jobs", "timers", "incidents")


class OnStore:
    def __init__(self, broker: Broker) -> None:
        self.calls = self.broker = broker
        self.deploy, self.create_instance, self.correlate = broker.deploy, broker.create_instance, broker.correlate
        self.activate_jobs, self.throw_error = broker.activate_jobs, broker.throw_error

    @property
    def now(self) -> int:
        return self.broker.now

    def models(self) -> Sequence[JsonObject]:
        """Every version that was deployed."""
        return [
            {"key": str(key), "process_id": it.process_id, "version": it.version}
            | {"name": it.plan.name, "tenant_id": it.tenant_id}
            for key, it in sorted(self.broker.definitions.by_key.items())
        ]

    def publish(self, message: NewMessage, wait_ms: int | None, replaces: int | None = None) -> JsonObject | Refusal:
        """What became of it, as `explain` describes it; after a wait, if there is one. `replaces`: a lost message."""
        no = None if replaces is None else unreplaceable(self.broker, replaces, message.tenant_id)
        published = no or self.broker.publish(message)
        if isinstance(published, Refusal):
            return published
        if replaces is not None:
            note_replaced(self.broker, replaces, published.key, message.key)
        if wait_ms is None:
            became = what_became(self.broker, published.key)
        else:
            became = wait_for_verdict(self.broker, published.key, wait_ms / 1_000)
        keep_noted(self.broker)
        return became if isinstance(became, Refusal) else became.as_json()

    def explain(self, key: int) -> JsonObject | Refusal:
        found = explain(self.broker, key)
        return found if isinstance(found, Refusal) else found.as_json()

    def explain_unsent(self, message: NewMessage) -> JsonObject:
        return explain_named(self.broker, message).as_json()

    def page(self, what: str, query: ListQuery) -> ListPage:
        """`what` is one of the lists of a store, such as messages."""
        found = list_page(self.broker, what, query)
        return found._replace(items=[to_plain(item) for item in found.items])

    def policies(self) -> JsonObject:
        return self.broker.catalog.policies_as_json()

    def set_policy(self, name: str, policy: Mapping[str, Any]) -> int:
        """The version of the catalog that has it."""
        self.broker.catalog.set_policy(name, policy, self.broker.now)
        return self.broker.catalog.view().version

    def status(self) -> JsonObject:
        from conjoin.runtime.reading.store_counts import figures

        view, facts = self.broker.catalog.view(), self.broker.store.facts
        shards = [
            it._asdict() | {"time": instant_text(it.time) if it.time else None} for it in figures(self.broker.store)
        ]
        return {
            "profile": facts.profile,
            "unique_business_ids": facts.unique_business_ids,
            "catalog_version": view.version,
            "processes": {latest.process_id: latest.version for latest in view.definitions.all_latest()},
            "policies": self.broker.catalog.in_force(),
            "not_in_force": self.broker.catalog.troubles(),
            "shards": shards,
            "open": {name: sum(shard[name] for shard in shards) for name in OPEN},
        }
