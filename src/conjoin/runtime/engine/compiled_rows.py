"""What the rows of a catalog stand for: each definition compiled once, each change of policies that fits the models.

Rows are taken in order of their versions, so that every process and every replay comes to the same. No row keeps a
store from being opened: a model that cannot be compiled any more is set apart, a change of policies that contradicts a
deployed model is not in force, and `troubles` names both.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from conjoin.bpmn import read_model
from conjoin.bpmn.document import DIALECTS
from conjoin.errors import ModelError, Problem
from conjoin.kernel.definitions import Definition
from conjoin.kernel.plan import Element, MessageDefinition, Plan
from conjoin.kernel.policies import Policies, read_policies
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.engine.catalog import New
from conjoin.store.rows import DefinitionRow, PolicyRow

_log = logging.getLogger(__name__)

PolicyChanges = dict[str, Mapping[str, Any]]
"""Policies that are set, by message name."""
PolicyHistory = dict[str, list[tuple[int, Mapping[str, Any]]]]


def _read(content: bytes, resource: str, profile: str, policies: Policies | None = None) -> dict[str, Plan]:
    model = read_model(content, resource, profile, policies, is_deployed=True)
    return {plan.process_id: plan for plan in model.plans}


_read_once = lru_cache(maxsize=256)(_read)
"""Plans are never changed; a replay looks at the same ones for each version of the catalog."""


class CompiledRows:
    def __init__(self, profile: str, content_of: Callable[[str], bytes]) -> None:
        self._profile = profile
        self._content_of = content_of
        self._contents: dict[str, bytes] = {}
        self._ready: dict[int, New] = {}
        self.rows: list[DefinitionRow] = []
        self.policy_rows: list[PolicyRow] = []
        self.news: dict[int, New] = {}
        """By definition key, in the order of deployment."""
        self.changes: PolicyChanges = {}
        self.history: PolicyHistory = {}
        """What was set at which version, by message name; rows that are not in force are left out."""
        self.ignored: dict[int, str] = {}
        """Versions of policy rows that are not in force, and why."""
        self.apart: dict[int, str] = {}
        """Keys of definitions that cannot be compiled, and why."""

    def prepared(self, brought: Sequence[New]) -> None:
        """Compiled already for their deployment: what these keys will stand for, if the store takes them."""
        self._ready = {new.definition.key: new for new in brought}

    def take(self, definitions: Sequence[DefinitionRow], policies: Sequence[PolicyRow]) -> None:
        self.rows += definitions
        self.policy_rows += policies
        both: list[DefinitionRow | PolicyRow] = [*definitions, *policies]
        plans: dict[tuple[str, str], dict[str, Plan]] = {}
        for row in sorted(both, key=lambda each: each.catalog_version):
            if isinstance(row, PolicyRow):
                self._take_policy(row)
                plans.clear()
            else:
                ready = self._ready.get(row.key)
                if ready is None or (ready.digest, ready.definition.process_id) != (row.digest, row.process_id):
                    ready = self._compiled(row, plans)
                self._contents.setdefault(row.digest, ready.content)
                self.news[row.key] = ready
        self._ready = {}

    def _compiled(self, row: DefinitionRow, plans: dict[tuple[str, str], dict[str, Plan]]) -> New:
        content = self._contents.get(row.digest)
        if content is None:
            content = self._contents[row.digest] = self._content_of(row.digest)
        try:
            found = plans.get((row.digest, row.resource))
            if found is None:
                policies = read_policies(self._profile, self.changes)[0]
                found = plans[(row.digest, row.resource)] = self._plans(row.resource, content, policies)
            plan = found[row.process_id]
        except Exception as error:  # noqa: BLE001 - a model of another version of us must not keep a store closed
            text = f"the file {row.resource} cannot be read any more: {error or type(error).__name__}"
            reason = f"version {row.version} of the process {row.process_id!r} is set apart, {text}"
            self.apart[row.key] = reason
            _log.warning("%s", reason)
            root = Element(row.process_id, "process")
            plan = Plan(row.process_id, root, _Unreadable(row, reason), (), (), unreadable=reason)
        definition = Definition(row.key, row.version, row.tenant_id, plan)
        return New(definition, row.resource, content, row.digest, row.deployed_at)

    def _plans(self, resource: str, content: bytes, policies: Policies) -> dict[str, Plan]:
        if DIALECTS[self._profile].keyless:
            return _read(content, resource, self._profile, policies)
        return _read_once(content, resource, self._profile)

    def _take_policy(self, row: PolicyRow) -> None:
        problems: list[str] = []
        try:
            changes = {**self.changes, row.name: read_json(row.policy)}
            recompiled = self.under(changes, problems)
        except ValueError as error:
            problems.append(f"it cannot be read: {error}")
        if problems:
            self.ignored[row.catalog_version] = "; ".join(problems)
            _log.warning(
                "the policies set for %r at catalog version %d are not in force: %s",
                *(row.name, row.catalog_version, self.ignored[row.catalog_version]),
            )
            return
        self.changes = changes
        self.history.setdefault(row.name, []).append((row.catalog_version, changes[row.name]))
        self.news.update(recompiled)

    def under(self, changes: PolicyChanges, problems: list[str]) -> dict[int, New]:
        """Definitions that these policies change, compiled with them; contradictions are added to the problems."""
        if not DIALECTS[self._profile].keyless:
            return {}
        policies = read_policies(self._profile, changes)[0]
        plans: dict[tuple[str, str], dict[str, Plan]] = {}
        changed: dict[int, New] = {}
        for key, new in self.news.items():
            if key in self.apart or not _is_keyless(new.definition.plan):
                continue
            try:
                found = plans.get((new.digest, new.resource))
                if found is None:
                    found = plans[(new.digest, new.resource)] = self._plans(new.resource, new.content, policies)
            except ModelError as error:
                problems.extend(text for text in str(error).splitlines() if text not in problems)
                plans[(new.digest, new.resource)] = {}
                continue
            its = new.definition
            if its.process_id in found:
                again = Definition(its.key, its.version, its.tenant_id, found[its.process_id])
                changed[key] = new._replace(definition=again)
        return changed

    def troubles(self) -> list[str]:
        """What of the catalog is not in force, in sentences; a later change of the same name fixes a policy."""
        set_since = {row.name: row.catalog_version for row in self.policy_rows}
        rows = {row.catalog_version: row for row in self.policy_rows}
        ignored = [
            f"the policies set for {rows[version].name!r} at catalog version {version} are not in force: {reason}"
            for version, reason in list(self.ignored.items())
            if set_since[rows[version].name] == version
        ]
        return [*ignored, *self.apart.values()]


def _is_keyless(plan: Plan) -> bool:
    """Does an element wait for a message without naming its key? Then the policies say what it matches."""
    events = (element.event for element in plan.elements.values() if element not in plan.starts)
    return any(isinstance(event, MessageDefinition) and event.key is None for event in events)


class _Unreadable(dict[str, Element]):
    """Nothing is known about the elements of such a model; looking one up raises why."""

    def __init__(self, row: DefinitionRow, reason: str) -> None:
        super().__init__()
        self._problem = Problem(row.resource, 1, "", "stored", reason, "Deploy it again in a form that can be read.")

    def __missing__(self, element_id: str) -> Element:
        raise ModelError([self._problem])
