"""Random stories about random models: starts, messages, jobs, errors, time, cancels, in any order."""

from collections.abc import Iterator
from random import Random
from typing import Any

from conjoin.runtime import Engine
from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.testing.clock import FakeClock
from conjoin.testing.observing.history import History
from conjoin.testing.observing.open_now import open_incidents
from tests.kernel.process.random_models import CODES, NAMES, ModelMaker


class Story:
    """One engine with two random processes, and a log of every event with its shard and command."""

    def __init__(self, seed: str, shards: int) -> None:
        self.seed = seed
        self.chance = Random(seed)
        self.clock = FakeClock()
        self.history: Any = History()
        self.log: list[tuple[int, Any, Any]] = []
        self.told: list[str] = []
        self.engine = self._engine(shards)
        self.models = {
            "beta.bpmn": ModelMaker(self.chance, "beta").xml(),
            "alpha.bpmn": ModelMaker(self.chance, "alpha", calls="beta").xml(),
        }
        self.engine.deploy(list(self.models.items()))

    def _engine(self, shards: int) -> Any:
        engine = Engine(self.clock, shards)
        engine.listen(self._listen)
        return engine

    def _incidents(self) -> list[Any]:
        return open_incidents(self.engine)

    def _listen(self, shard: Any, command: Any, event: Any) -> None:
        self.history(shard, command, event)
        self.log.append((shard.index, command, event))

    def steps(self, count: int) -> Iterator[str]:
        """Carries out that many steps, and tells each after it was done."""
        acts = [self._start] * 3 + [self._publish] * 8 + [self._complete] * 4
        acts += [self._correlate, self._fail, self._throw, self._advance, self._cancel, self._resolve, self._signal]
        for _ in range(count):
            self.told.append(self.chance.choice(acts)())
            yield self.told[-1]

    def _variables(self) -> dict[str, Any]:
        key = self.chance.choice
        variables: dict[str, Any] = {"k1": key("ab"), "k2": key("ab"), "v": self.chance.randint(0, 5)}
        variables["items"] = [key("ab") for _ in range(self.chance.randint(0, 3))]
        if self.chance.random() < 0.05:
            del variables[self.chance.choice(["k1", "v", "items"])]
        return variables

    def _start(self) -> str:
        process, variables = self.chance.choice(["alpha", "beta"]), self._variables()
        created = self.engine.create_instance(process, variables)
        assert isinstance(created, CreatedInstance)
        return f"start {process} {variables}"

    def _message(self) -> NewMessage:
        ttl_ms = self.chance.choice([0, 60_000, 3_600_000, 3_600_000])
        variables = self._variables() if self.chance.random() < 0.3 else {"v": self.chance.randint(0, 5)}
        return NewMessage(self.chance.choice(NAMES), self.chance.choice("ab"), variables, ttl_ms)

    def _publish(self) -> str:
        message = self._message()
        return f"publish {message}: {self.engine.publish(message)}"

    def _correlate(self) -> str:
        message = self._message()
        return f"correlate {message}: {self.engine.correlate(message)}"

    def _jobs(self, limit: int) -> list[Any]:
        jobs = self.engine.activate_jobs(self.chance.choice(["j1", "j2"]), limit)
        assert isinstance(jobs, list)
        return jobs

    def _complete(self) -> str:
        jobs = self._jobs(self.chance.randint(1, 2))
        for job in jobs:
            self.engine.complete_job(job.key, {"v": self.chance.randint(0, 5)})
        return f"complete {[job.element_id for job in jobs]}"

    def _fail(self) -> str:
        retries = self.chance.randint(0, 1)
        jobs = self._jobs(1)
        for job in jobs:
            self.engine.fail_job(job.key, retries)
        return f"fail {[job.element_id for job in jobs]} with {retries} retries left"

    def _throw(self) -> str:
        code = self.chance.choice(CODES)
        jobs = self._jobs(1)
        for job in jobs:
            self.engine.throw_error(job.key, code)
        return f"throw {code} in {[job.element_id for job in jobs]}"

    def _advance(self) -> str:
        minutes = self.chance.choice([1, 10, 30])
        self.clock.advance_ms(minutes * 60_000)
        self.engine.tick()
        return f"advance {minutes} minutes"

    def _cancel(self) -> str:
        keys = list(self.history.instances)
        if not keys or self.chance.random() < 0.5:
            return "nothing"
        key = self.chance.choice(keys)
        return f"cancel {key}: {self.engine.cancel_instance(key)}"

    def _resolve(self) -> str:
        incidents = self._incidents()
        if not incidents:
            return "nothing"
        incident = self.chance.choice(incidents)
        self.engine.set_variables(incident.instance_key, {"k1": "a", "v": 1, "items": ["a"]})
        return f"resolve {incident}: {self.engine.resolve_incident(incident.key)}"

    def _signal(self) -> str:
        self.engine.broadcast_signal("s1", {})
        return "signal s1"
