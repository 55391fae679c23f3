"""The catalog: every model that was deployed, the versions of its processes, and the policies in force.

It only grows. A deployment is all or nothing; content that is already the latest version is not a new one. What the
kernel needs of it follows from the latest versions.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from conjoin.bpmn import Model, ModelError, read_model
from conjoin.bpmn.document import DIALECTS
from conjoin.errors import PolicyError
from conjoin.kernel.catalog import Catalog, NewInstance, StartSubscription
from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.plan import MessageDefinition, Plan
from conjoin.kernel.policies import Policies, read_policies
from conjoin.runtime.client_api.answers import DeployedProcess, Deployment, Refusal
from conjoin.runtime.engine.business_ids import BusinessIds

DEFAULT_TENANT = "<default>"

MOST_PROCESSES = 500
"""Of one deployment."""

read_once = lru_cache(maxsize=1024)(read_model)
"""Plans are never changed, so one content is read once for all deployments."""


def chosen_policies(profile: str, changes: Mapping[str, Mapping[str, Any]]) -> Policies:
    """The policies of a profile with changes by message name; raises `PolicyError` with everything that is wrong."""
    policies, problems = read_policies(profile, changes)
    if problems:
        raise PolicyError(problems)
    return policies


class New(NamedTuple):
    """A version of a process that a deployment brings, and the file it came from."""

    definition: Definition
    resource: str
    content: bytes
    digest: str
    deployed_at: int


class Deployments:
    def __init__(self, policies: Policies | None = None, profile: str = "zeebe") -> None:
        self.policies = policies or read_policies(profile, {})[0]
        self.profile = profile
        self.definitions = Definitions()
        self.version = 0
        self._brought: dict[int, New] = {}
        self._last_key = 0

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str, at: int) -> Deployment | Refusal:
        prepared = self.prepare(resources, tenant_id, at)
        if isinstance(prepared, Refusal):
            return prepared
        deployment, brought = prepared
        self.version += 1
        self._last_key = max(self._last_key, deployment.key)
        for new in brought:
            self.add(new)
        return deployment

    def prepare(
        self, resources: Sequence[tuple[str, bytes]], tenant_id: str, at: int
    ) -> tuple[Deployment, list[New]] | Refusal:
        """What deploying would bring. Everything or nothing: one bad model refuses the call, with all problems."""
        if not resources:
            return Refusal("INVALID_ARGUMENT", "there is nothing to deploy")
        models: list[Model] = []
        problems: list[str] = []
        for name, content in resources:
            try:
                models.append(self._model(name, content))
            except ModelError as error:
                problems += str(error).splitlines()
        plans = [(model, plan) for model in models for plan in model.plans]
        problems += _named_twice(plans)
        if len(plans) > MOST_PROCESSES:
            most = f"{MOST_PROCESSES:,} are the most: deploy them in parts"
            problems.append(f"the deployment has {len(plans):,} processes, and {most}")
        if problems:
            return Refusal("INVALID_ARGUMENT", "\n".join(problems))
        by_name = dict(resources)
        deployment_key = self._last_key + 1
        processes: list[DeployedProcess] = []
        brought: list[New] = []
        for model, plan in plans:
            latest = self.definitions.latest(tenant_id, plan.process_id)
            is_new = latest is None or self._brought[latest.key].digest != model.digest
            if is_new:
                version = latest.version + 1 if latest is not None else 1
                latest = Definition(deployment_key + len(brought) + 1, version, tenant_id, plan)
                brought.append(New(latest, model.name, by_name[model.name], model.digest, at))
            assert latest is not None
            processes.append(DeployedProcess(latest.key, plan.process_id, latest.version, model.name, is_new))
        notes = [note for model in models for note in model.notes]
        return Deployment(deployment_key, processes, notes), brought

    def add(self, new: New) -> None:
        self._brought[new.definition.key] = new
        self._last_key = max(self._last_key, new.definition.key)
        self.definitions.add(new.definition)

    def _model(self, name: str, content: bytes) -> Model:
        """Where a model need not name its keys, the policies say how it matches, so it is read anew."""
        if not DIALECTS[self.profile].keyless:
            return read_once(content, name, self.profile)
        return read_model(content, name, self.profile, self.policies)

    def resource(self, definition_key: int) -> tuple[str, bytes]:
        """The name and content of the file that a definition came from."""
        new = self._brought[definition_key]
        return new.resource, new.content

    def snapshot(self, new_instance: NewInstance, business_ids: BusinessIds | None = None) -> Catalog:
        """What the correlation half looks at: the message start events of the latest versions."""
        starts = [start for latest in self.definitions.all_latest() for start in self.starts_of(latest)]
        if business_ids is None:
            return Catalog(starts, self.policies, new_instance)
        return Catalog(starts, self.policies, new_instance, business_ids.is_free)

    def starts_of(self, definition: Definition) -> list[StartSubscription]:
        """Its message start events, in the order of the model."""
        at = self._brought[definition.key].deployed_at
        process_id, tenant_id = definition.process_id, definition.tenant_id
        return [
            StartSubscription(
                *(process_id, start.event.name({}, at), tenant_id, start.id), from_at=at, definition_key=definition.key
            )
            for start in definition.plan.starts
            if isinstance(start.event, MessageDefinition)
        ]


def _named_twice(plans: Sequence[tuple[Model, Plan]]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for model, plan in plans:
        first = seen.setdefault(plan.process_id, model.name)
        if first != model.name:
            yield f"{model.name}: the process id {plan.process_id!r} is in {first} already"
