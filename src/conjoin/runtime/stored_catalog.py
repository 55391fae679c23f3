"""The catalog of a store: what was deployed and decided, read once for each of its versions.

Definitions and policies are only appended; a plan is never stored: every process compiles the models itself. A view is
one version and does not change, so that threads can share it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import Any

from conjoin.errors import PolicyError
from conjoin.kernel.catalog import Catalog
from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.policies import WHILE_BUFFERED, Policies, Policy, read_policies
from conjoin.runtime.answers import Deployment, Refusal
from conjoin.runtime.business_ids import BusinessIds
from conjoin.runtime.catalog import Deployments, New
from conjoin.runtime.encoding.json_text import json_text, read_json
from conjoin.store import tables as t
from conjoin.store.port import CatalogStore
from conjoin.store.rows import DefinitionRow, PolicyRow, ResourceRow

Changes = Mapping[str, Mapping[str, Any]]
"""Policies that were set, by message name."""


PoliciesOverTime = Sequence[tuple[int, Policies]]
"""Those in force from a version of the catalog on."""
INBOX_PROFILE = "correlate"


def inbox_version(version: int) -> int:
    """How a message that was accepted under the policies of the inbox names the version of the catalog, and back."""
    return ~version


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
        return self._policies[-1][1]

    @property
    def inbox_policies(self) -> Policies:
        """For messages that the inbox offers: the same changes, over the profile `correlate`.

        The inbox knows its ids for as long as it keeps its messages, so the engine need not remember them as well.
        """
        return self._inbox_policies[-1][1]

    def _policy_of(self, name: str, version: int) -> Policy:
        """In force for a message name at a version: the last that was set up to then.

        A version that was turned over (`inbox_version`) asks for the policies of the inbox.
        """
        told = self._policies
        if version < 0:
            told, version = self._inbox_policies, inbox_version(version)
        in_force = told[0][1]
        for since, policies in told:
            if since > version:
                break
            in_force = policies
        return in_force.of(name)

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
        self._contents: dict[str, bytes] = {}
        self._rows: list[DefinitionRow] = []
        self._set: list[PolicyRow] = []
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
        seen = self._view.version
        if version > seen:
            self._rows += self._store.definitions(seen)
            self._set += self._store.policies(seen)
            seen_now = [row.catalog_version for row in (*self._rows[-1:], *self._set[-1:])]  # type: ignore[attr-defined]
            self._view = self._built(max(version, *seen_now))

    def _built(self, version: int) -> CatalogView:
        policies = self._policies_over_time(self._profile)
        told = self._policies_over_time(INBOX_PROFILE)
        inbox_policies = [(since, _without_memory(policies)) for since, policies in told]
        deployments = Deployments(policies[-1][1], self._profile)
        deployments.version = version
        for row in self._rows:
            deployments.add(self._new(deployments, row))
        return CatalogView(version, deployments, policies, inbox_policies, tuple(self._rows))

    def _new(self, deployments: Deployments, row: DefinitionRow) -> New:
        content = self._contents.get(row.digest)
        if content is None:
            content = self._contents[row.digest] = self._store.resource(row.digest)
        model = deployments.model(row.resource, content)
        plan = next(plan for plan in model.plans if plan.process_id == row.process_id)
        definition = Definition(row.key, row.version, row.tenant_id, plan)
        return New(definition, row.resource, content, row.digest, row.deployed_at)

    def _policies_over_time(self, profile: str) -> PoliciesOverTime:
        changes: dict[str, Any] = {}
        told = [(0, read_policies(profile, {})[0])]
        for row in self._set:
            changes[row.name] = read_json(row.policy)
            told.append((row.catalog_version, read_policies(profile, changes)[0]))
        return told

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str, at: int) -> Deployment | Refusal:
        while True:
            view = self.view()
            prepared = view.deployments.prepare(resources, tenant_id, at)
            if isinstance(prepared, Refusal):
                return prepared
            deployment, brought = prepared
            if not brought or self._append(view.version, _rows(brought, view.version + 1)):
                self.view()
                return deployment

    def set_policy(self, name: str, values: Mapping[str, Any], at: int) -> None:
        """For a message name, or `*` for all without their own. Raises `PolicyError` for what makes no sense."""
        while True:
            version = self.view().version
            changes = {row.name: read_json(row.policy) for row in self._set} | {name: values}
            problems = read_policies(self._profile, changes)[1]
            if problems:
                raise PolicyError(problems)
            row = PolicyRow(version + 1, name, json_text(values), at)
            if self._append(version, {t.POLICY: [row]}):
                self.view()
                return

    def policies_set(self) -> list[PolicyRow]:
        """Everything that was ever set, oldest first."""
        self.view()
        return list(self._set)

    def _append(self, version: int, put: Mapping[Any, Sequence[Any]]) -> bool:
        return self._store.append(version, put)


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
