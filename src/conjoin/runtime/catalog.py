"""The catalog: every model that was deployed, the versions of its processes, and the policies in force.

It only grows. A deployment is all or nothing; content that is already the latest version is not a new one. What the
kernel needs of it follows from the latest versions.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from conjoin.bpmn import Model, ModelError, read_model
from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.plan import MessageDefinition
from conjoin.kernel.policies import Policies, read_policies
from conjoin.runtime.answers import DeployedProcess, Deployment, Refusal
from conjoin.runtime.business_ids import BusinessIds

DEFAULT_TENANT = "<default>"

read_once = lru_cache(maxsize=1024)(read_model)
"""Plans are never changed, so one content is read once for all who deploy it."""


class Deployments:
    def __init__(self, policies: Policies | None = None, profile: str = "zeebe") -> None:
        self.policies = policies or read_policies(profile, {})[0]
        self.profile = profile
        self.definitions = Definitions()
        self.version = 0
        self._digests: dict[int, str] = {}
        self._resources: dict[int, tuple[str, bytes]] = {}
        self._deployed_at: dict[int, int] = {}
        self._last_key = 0

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str, at: int) -> Deployment | Refusal:
        """Everything or nothing: one bad model refuses the call, with all problems of all files."""
        if not resources:
            return Refusal("INVALID_ARGUMENT", "there is nothing to deploy")
        models, problems = self._read(resources)
        problems += _named_twice(models)
        if problems:
            return Refusal("INVALID_ARGUMENT", "\n".join(problems))
        self.version += 1
        by_name = dict(resources)
        processes = [
            self._add(model, number, by_name[model.name], tenant_id, at)
            for model in models
            for number in range(len(model.plans))
        ]
        return Deployment(self._new_key(), processes)

    def _read(self, resources: Sequence[tuple[str, bytes]]) -> tuple[list[Model], list[str]]:
        models: list[Model] = []
        problems: list[str] = []
        for name, content in resources:
            try:
                models.append(self._model(name, content))
            except ModelError as error:
                problems += str(error).splitlines()
        return models, problems

    def _model(self, name: str, content: bytes) -> Model:
        """Where a model need not name its keys, the policies say how it matches, so it is read anew."""
        if self.profile == "zeebe":
            return read_once(content, name)
        return read_model(content, name, self.profile, self.policies)

    def _add(self, model: Model, number: int, content: bytes, tenant_id: str, at: int) -> DeployedProcess:
        plan = model.plans[number]
        latest = self.definitions.latest(tenant_id, plan.process_id)
        if latest is not None and self._digests[latest.key] == model.digest:
            return DeployedProcess(latest.key, plan.process_id, latest.version, model.name, is_new=False)
        version = latest.version + 1 if latest is not None else 1
        definition = Definition(self._new_key(), version, tenant_id, plan)
        self._digests[definition.key] = model.digest
        self._resources[definition.key] = (model.name, content)
        self._deployed_at[definition.key] = at
        self.definitions.add(definition)
        return DeployedProcess(definition.key, plan.process_id, version, model.name, is_new=True)

    def _new_key(self) -> int:
        """Keys of the catalog belong to no shard: their shard part is 0."""
        self._last_key += 1
        return self._last_key

    def resource(self, definition_key: int) -> tuple[str, bytes]:
        """The name and content of the file that a definition came from."""
        return self._resources[definition_key]

    def snapshot(self, new_instance: Callable[..., Any], business_ids: BusinessIds | None = None) -> Catalog:
        """What the correlation half looks at: the message start events of the latest versions."""
        starts = [start for latest in self.definitions.all_latest() for start in self._starts(latest)]
        if business_ids is None:
            return Catalog(starts, self.policies, new_instance)
        return Catalog(starts, self.policies, new_instance, business_ids.is_free)

    def _starts(self, definition: Definition) -> list[StartSubscription]:
        at = self._deployed_at[definition.key]
        return [
            StartSubscription(
                definition.process_id,
                start.event.name({}, at),
                definition.tenant_id,
                start.id,
                from_at=at,
                definition_key=definition.key,
            )
            for start in definition.plan.starts
            if isinstance(start.event, MessageDefinition)
        ]


def _named_twice(models: Sequence[Model]) -> list[str]:
    seen: dict[str, str] = {}
    problems = []
    for model in models:
        for plan in model.plans:
            first = seen.setdefault(plan.process_id, model.name)
            if first != model.name:
                problems.append(f"{model.name}: the process id {plan.process_id!r} is in {first} already")
    return problems
