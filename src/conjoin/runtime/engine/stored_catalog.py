"""The catalog of a store: what was deployed and decided, read once for each of its versions.

Definitions and policies are only appended; a plan is never stored: every process compiles the models itself, each once
(`compiled_rows.py`). A view is one version and does not change, so that threads can share it.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter, itemgetter
from threading import Lock
from typing import Any

from conjoin.errors import PolicyError
from conjoin.kernel.catalog import Catalog
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.policies import WHILE_BUFFERED, Policies, Policy, read_policies
from conjoin.kernel.storable import unstorable_text
from conjoin.runtime.client_api.answers import Deployment, Refusal
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.catalog import Deployments, New
from conjoin.runtime.engine.compiled_rows import CompiledRows, PolicyChanges, PolicyHistory
from conjoin.store import tables as t
from conjoin.store.catalog import CatalogStore
from conjoin.store.port import Frozen
from conjoin.store.rows import DefinitionRow, PolicyRow, ResourceRow
from conjoin.store.tables import Table
from conjoin.times.iso8601 import instant_text

INBOX_PROFILE = "correlate"


def inbox_version(version: int) -> int:
    """How a message that was accepted under the policies of the inbox names the version of the catalog, and back."""
    return ~version


class PoliciesOverTime:
    """Those of a profile at each version of the catalog. Only the latest are all made: a store has as many versions as
    changes, and to make all of each takes the square of their number."""

    def __init__(self, profile: str, changes: PolicyChanges, history: PolicyHistory, remembers: bool = True) -> None:
        self._profile = profile
        self._history = history
        self._remembers = remembers
        self.latest = self._read(changes)

    def of(self, name: str, version: int) -> Policy:
        """In force for a message name at a version: the last that was set up to then."""
        changes = {}
        for it in ("*", name):
            history = self._history.get(it, [])
            count = bisect_right(history, version, key=itemgetter(0))
            if count:
                changes[it] = history[count - 1][1]
        return self._read(changes).of(name)

    def _read(self, changes: PolicyChanges) -> Policies:
        policies = read_policies(self._profile, changes)[0]
        if self._remembers:
            return policies
        # Ids are known while their messages are buffered, and no longer.
        by_name = {name: replace(policy, dedup=WHILE_BUFFERED) for name, policy in policies.by_name.items()}
        return Policies(replace(policies.default, dedup=WHILE_BUFFERED), by_name)


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
        self.rows = rows
        self.deployments = deployments
        self.definitions: Definitions = deployments.definitions
        self._policies = policies
        self._inbox_policies = inbox_policies
        self.policies = policies.latest
        self.inbox_policies = inbox_policies.latest
        """For messages that the inbox offers: the same changes, over the profile `correlate`. The inbox knows its ids
        for as long as it keeps its messages, so the engine need not remember them as well."""
        self.policy_of = lru_cache(maxsize=10_000)(self._policy_of)

    def _policy_of(self, name: str, version: int) -> Policy:
        """A negative version (`inbox_version`) stands for the policies of the inbox."""
        if version < 0:
            return self._inbox_policies.of(name, inbox_version(version))
        return self._policies.of(name, version)

    def kernel_catalog(self, business_ids: BusinessIds | None = None) -> Catalog:
        return self.deployments.snapshot(_no_key, business_ids)


def _no_key(*_: Any) -> int:
    raise AssertionError("a run gives out the keys")


class StoredCatalog:
    def __init__(self, store: "CatalogStore | _AsOf", profile: str) -> None:
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
        """As it was when this process last looked; the store is not read."""
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
        policies = PoliciesOverTime(self._profile, known.changes, known.history)
        inbox_policies = PoliciesOverTime(INBOX_PROFILE, known.changes, known.history, remembers=False)
        deployments = Deployments(policies.latest, self._profile)
        deployments.version = version
        for new in known.news.values():
            deployments.add(new)
        return CatalogView(version, deployments, policies, inbox_policies, tuple(known.rows))

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str, at: int) -> Deployment | Refusal:
        """The models are compiled before anything is written, outside of any lock."""
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
            if self._store.append(view.version, _rows(brought, view.version + 1)):
                self.view()
                return deployment

    def set_policy(self, name: str, values: Mapping[str, Any], at: int) -> None:
        """For a message name, or `*` for all without their own.

        Raises `PolicyError` for what makes no sense or contradicts a deployed model; nothing is written then.
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
            if self._store.append(version, {t.POLICY: [row]}):
                self.view()
                return

    def policies_set(self) -> list[PolicyRow]:
        """Everything that was ever set, oldest first."""
        self.view()
        return list(self._known.policy_rows)

    def policies_as_json(self) -> dict[str, Any]:
        changes = []
        for row in self.policies_set():
            try:
                policy = read_json(row.policy)
            except ValueError:
                # It is not in force, and named below.
                policy = {}
            which = {"catalog_version": row.catalog_version, "name": row.name}
            changes.append({**which, "policy": policy, "set_at": instant_text(row.set_at)})
        now = {"profile": self._profile, "policies": self.in_force()}
        return {**now, "changes": changes, "not_in_force": self.troubles()}

    def in_force(self) -> dict[str, Mapping[str, Any]]:
        """What is set now, by message name; everything else is answered by the profile."""
        self.view()
        return {name: answers for name, answers in self._known.changes.items() if answers}

    def troubles(self) -> list[str]:
        """What of the catalog is not in force, and why."""
        self.view()
        return self._known.troubles()


def _rows(brought: Sequence[New], version: int) -> dict[Table, list[Any]]:
    definitions = [
        DefinitionRow(
            *(new.definition.key, version, new.definition.tenant_id, new.definition.process_id),
            *(new.definition.version, new.resource, new.digest, new.deployed_at),
        )
        for new in brought
    ]
    resources = {new.digest: ResourceRow(new.digest, new.content) for new in brought}
    return {t.RESOURCE: list(resources.values()), t.DEFINITION: definitions}


class CatalogVersions:
    """The catalog as it was at each of its versions, read from one frozen view of a store."""

    def __init__(self, frozen: Frozen, profile: str) -> None:
        self._definitions: list[DefinitionRow] = _in_order(frozen, t.DEFINITION)
        self._policies: list[PolicyRow] = _in_order(frozen, t.POLICY)
        self._resources = {row.digest: bytes(row.content) for row in frozen.catalog_rows(t.RESOURCE)}
        self._profile = profile
        self._views: dict[int, CatalogView] = {}

    @property
    def newest(self) -> int:
        deployed = (row.catalog_version for row in self._definitions)
        return max(*deployed, *(row.catalog_version for row in self._policies), 0, 0)

    def at(self, version: int) -> CatalogView:
        view = self._views.get(version)
        if view is None:
            as_of = _AsOf(version, self._definitions, self._policies, self._resources)
            view = self._views[version] = StoredCatalog(as_of, self._profile).view()
        return view


def _in_order(frozen: Frozen, table: Table) -> list[Any]:
    return sorted(frozen.catalog_rows(table), key=attrgetter("catalog_version", *table.key))


@dataclass(frozen=True)
class _AsOf:
    """A catalog that ends at a version, and takes nothing new."""

    ends_at: int
    all_definitions: Sequence[DefinitionRow]
    all_policies: Sequence[PolicyRow]
    resources: Mapping[str, bytes]

    def version(self) -> int:
        return self.ends_at

    def definitions(self, after: int = 0) -> Sequence[DefinitionRow]:
        return [row for row in self.all_definitions if after < row.catalog_version <= self.ends_at]

    def policies(self, after: int = 0) -> Sequence[PolicyRow]:
        return [row for row in self.all_policies if after < row.catalog_version <= self.ends_at]

    def resource(self, digest: str) -> bytes:
        return self.resources[digest]

    def append(self, version: int, put: Mapping[Table, Sequence[Any]]) -> bool:
        raise AssertionError("the past does not change")
