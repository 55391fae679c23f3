"""The catalog of a store: what was deployed and decided, read once for each of its versions.

Definitions and policies are only appended; a plan is never stored: every process compiles the models itself, each once
(`compiled_rows.py`). A view is one version and does not change, so that threads can share it.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from threading import Lock
from typing import Any

from conjoin.errors import PolicyError
from conjoin.kernel.catalog import Catalog
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.policies import WHILE_BUFFERED, Policies, Policy, read_policies
from conjoin.kernel.storable import unstorable_text
from conjoin.runtime.client_api.answers import Deployment, Refusal
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.catalog import Deployments, New
from conjoin.runtime.engine.compiled_rows import CompiledRows, PolicyChanges, PolicyHistory
from conjoin.store import tables as t
from conjoin.store.port import CatalogStore
from conjoin.store.rows import DefinitionRow, PolicyRow, ResourceRow

INBOX_PROFILE = "correlate"
Kept = Callable[[Policies], Policies]
"""What is kept of policies as they were set."""


def inbox_version(version: int) -> int:
    """How a message that was accepted under the policies of the inbox names the version of the catalog, and back."""
    return ~version


class PoliciesOverTime:
    """Those of a profile at each version of the catalog. Only the latest are all made: a store has as many versions as
    changes, and to make all of each takes the square of their number."""

    def __init__(self, profile: str, changes: PolicyChanges, history: PolicyHistory, kept: Kept) -> None:
        self._profile = profile
        self._history = history
        self._kept = kept
        self.latest = kept(read_policies(profile, changes)[0])

    def of(self, name: str, version: int) -> Policy:
        """In force for a message name at a version: the last that was set up to then."""
        found = {it: self._set(it, version) for it in ("*", name)}
        changes = {it: values for it, values in found.items() if values is not None}
        return self._kept(read_policies(self._profile, changes)[0]).of(name)

    def _set(self, name: str, version: int) -> Mapping[str, Any] | None:
        told = self._history.get(name, [])
        count = bisect_right(told, version, key=itemgetter(0))
        return told[count - 1][1] if count else None


class CatalogView:
    """One version of the catalog."""

    def __init__(
        self,
        version: int,
        deployments: Deployments,
        policies: PoliciesOverTime,
        inbox_policies: PoliciesOverTime,
        rows: Sequence[DefinitionRow],
    ) -> None:
        self.version = version
        self._rows = rows
        self.deployments = deployments
        self.definitions: Definitions = deployments.definitions
        self._policies = policies
        self._inbox_policies = inbox_policies
        self.policy_of = lru_cache(maxsize=10_000)(self._policy_of)

    @property
    def policies(self) -> Policies:
        return self._policies.latest

    @property
    def inbox_policies(self) -> Policies:
        """For messages that the inbox offers: the same changes, over the profile `correlate`.

        The inbox knows its ids for as long as it keeps its messages, so the engine need not remember them as well.
        """
        return self._inbox_policies.latest

    def _policy_of(self, name: str, version: int) -> Policy:
        """A version that was turned over (`inbox_version`) asks for the policies of the inbox."""
        if version < 0:
            return self._inbox_policies.of(name, inbox_version(version))
        return self._policies.of(name, version)

    def deployed_after(self, version: int) -> list[DefinitionRow]:
        return [row for row in self._rows if row.catalog_version > version]

    def kernel_catalog(self, business_ids: BusinessIds | None = None) -> Catalog:
        return self.deployments.snapshot(_no_key, business_ids)


def _no_key(*asked: Any) -> int:
    raise AssertionError("a run gives out the keys")


class StoredCatalog:
    def __init__(self, store: CatalogStore, profile: str) -> None:
        self._store = store
        self._profile = profile
        self._turn = Lock()
        self._known = CompiledRows(profile, store.resource)
        self._view = self._built(0)

    def view(self) -> CatalogView:
        """As it is now."""
        version = self._store.version()
        if version != self._view.version:
            with self._turn:
                self._refresh(version)
        return self._view

    @property
    def last_seen(self) -> CatalogView:
        """As it was when somebody in this process last looked; the store is not asked."""
        return self._view

    def _refresh(self, version: int) -> None:
        """Compiles what is new, and nothing else; what this process has deployed itself is compiled already."""
        seen = self._view.version
        if version > seen:
            definitions, policies = self._store.definitions(seen), self._store.policies(seen)
            self._known.take(definitions, policies)
            newest = [row.catalog_version for row in (*definitions[-1:], *policies[-1:])]  # type: ignore[attr-defined]
            self._view = self._built(max(version, *newest, 0))

    def _built(self, version: int) -> CatalogView:
        known = self._known
        policies = PoliciesOverTime(self._profile, known.changes, known.history, _as_they_are)
        inbox_policies = PoliciesOverTime(INBOX_PROFILE, known.changes, known.history, _without_memory)
        deployments = Deployments(policies.latest, self._profile)
        deployments.version = version
        for new in known.news.values():
            deployments.add(new)
        return CatalogView(version, deployments, policies, inbox_policies, tuple(known.rows))

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str, at: int) -> Deployment | Refusal:
        """The models are compiled before anything is written, and where nobody waits for it."""
        while True:
            view = self.view()
            prepared = view.deployments.prepare(resources, tenant_id, at)
            if isinstance(prepared, Refusal):
                return prepared
            deployment, brought = prepared
            if not brought:
                return deployment
            with self._turn:
                self._known.prepared(brought)
            if self._append(view.version, _rows(brought, view.version + 1)):
                self.view()
                return deployment

    def set_policy(self, name: str, values: Mapping[str, Any], at: int) -> None:
        """For a message name, or `*` for all without their own.

        Raises `PolicyError` for what makes no sense, and for what a deployed model does not stand; nothing is written
        then.
        """
        wrong = unstorable_text(name)
        if wrong is not None or not name.strip():
            raise PolicyError([f"the message name {wrong or 'is missing'}"])
        while True:
            version = self.view().version
            changes = {**self._known.changes, name: values}
            problems = read_policies(self._profile, changes)[1]
            if not problems:
                with self._turn:
                    self._known.under(changes, problems)
            if problems:
                raise PolicyError(problems)
            row = PolicyRow(version + 1, name, json_text(values), at)
            if self._append(version, {t.POLICY: [row]}):
                self.view()
                return

    def policies_set(self) -> list[PolicyRow]:
        """Everything that was ever set, oldest first."""
        self.view()
        return list(self._known.policy_rows)

    def in_force(self) -> dict[str, Mapping[str, Any]]:
        """What is set now, by message name; everything else is answered by the profile."""
        self.view()
        return {name: answers for name, answers in self._known.changes.items() if answers}

    def troubles(self) -> list[str]:
        """What of the catalog is not in force, and why; empty when all is well."""
        self.view()
        return self._known.troubles()

    def _append(self, version: int, put: Mapping[Any, Sequence[Any]]) -> bool:
        return self._store.append(version, put)


def _as_they_are(policies: Policies) -> Policies:
    return policies


def _without_memory(policies: Policies) -> Policies:
    """Ids are known while their messages are buffered, and no longer."""
    by_name = {name: replace(policy, dedup=WHILE_BUFFERED) for name, policy in policies.by_name.items()}
    return Policies(replace(policies.default, dedup=WHILE_BUFFERED), by_name)


def _rows(brought: Sequence[New], version: int) -> dict[Any, list[Any]]:
    definitions = [
        DefinitionRow(
            *(new.definition.key, version, new.definition.tenant_id, new.definition.process_id),
            *(new.definition.version, new.resource, new.digest, new.deployed_at),
        )
        for new in brought
    ]
    resources = {new.digest: ResourceRow(new.digest, new.content) for new in brought}
    return {t.RESOURCE: list(resources.values()), t.DEFINITION: definitions}
