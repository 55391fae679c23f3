"""Playing a scenario: its steps are done with an engine, and the outcome is what could be observed.

The engine is idle between steps, and its clock stands still but for `advance`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conjoin.errors import InputError
from conjoin.runtime.client_api.answers import ActivatedJob, CorrelatedMessage, CreatedInstance, Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.testing.clock import FakeClock
from conjoin.testing.scenarios.outcome import EngineView, outcome_of
from conjoin.testing.scenarios.read import Scenario, StoryStep
from conjoin.testing.scenarios.stages import Stage
from conjoin.times.durations import read_duration_ms

Answer = dict[str, Any]
OK: Answer = {"ok": True}


def play(scenario: Scenario, models: Path, stage: Stage) -> dict[str, Any]:
    """The outcome; `models` is the folder of its BPMN files."""
    clock = FakeClock()
    with stage(clock, scenario.rules) as (engine, view):
        player = _Player(scenario, models, clock, engine, view)
        for model in scenario.models:
            player.prepare(model)
        steps = [player.step(step) for step in scenario.steps]
        return outcome_of(view, steps)


class _Player:
    def __init__(self, scenario: Scenario, models: Path, clock: FakeClock, engine: Any, view: EngineView) -> None:
        self.scenario = scenario
        self.models = models
        self.clock = clock
        self.engine = engine
        self.view = view
        self.named: dict[str, int] = {}

    def step(self, step: StoryStep) -> Answer:
        """One step and everything that it causes, a timer that is due at once included."""
        # There is a method for each kind of step that a scenario may have (`read.py`).
        answer: Answer = getattr(self, step.kind)(step.fields)
        self.engine.tick()
        return answer

    def prepare(self, model: str) -> None:
        """A model that the story takes for granted."""
        answer = self.engine.deploy([(model, self._content(model))])
        if isinstance(answer, Refusal):
            raise InputError([f"{self.scenario.name}: {line}" for line in answer.text.splitlines()])

    def deploy(self, fields: Mapping[str, Any]) -> Answer:
        return _answer(self.engine.deploy([(name, self._content(name)) for name in fields["files"]]))

    def _content(self, name: str) -> bytes:
        try:
            return (self.models / name).read_bytes()
        except OSError as error:
            problem = f"{self.scenario.name}: the model {self.models / name} cannot be read: {error.strerror}"
            raise InputError([problem]) from error

    def start(self, fields: Mapping[str, Any]) -> Answer:
        about = (fields.get("version", 0), fields.get("business_id", ""))
        created = self.engine.create_instance(fields["process"], fields.get("variables", {}), *about)
        if isinstance(created, CreatedInstance) and "as" in fields:
            self.named[fields["as"]] = created.key
        return _answer(created)

    def publish(self, fields: Mapping[str, Any]) -> Answer:
        return _answer(self.engine.publish(_message(fields)))

    def correlate(self, fields: Mapping[str, Any]) -> Answer:
        answer = self.engine.correlate(_message(fields))
        if not isinstance(answer, CorrelatedMessage):
            return _answer(answer)
        return {"ok": True, "instance": list(self.view.instances).index(answer.instance_key)}

    def advance(self, fields: Mapping[str, Any]) -> Answer:
        self.clock.advance_ms(read_duration_ms(fields["duration"], signed=True) or 0)
        return OK

    def complete(self, fields: Mapping[str, Any]) -> Answer:
        variables = fields.get("variables", {})
        return self._work(fields, fields.get("limit", 1), lambda job: self.engine.complete_job(job.key, variables))

    def fail(self, fields: Mapping[str, Any]) -> Answer:
        how = (fields.get("retries", 0), fields.get("message", ""))
        return self._work(fields, 1, lambda job: self.engine.fail_job(job.key, *how))

    def throw(self, fields: Mapping[str, Any]) -> Answer:
        return self._work(fields, 1, lambda job: self.engine.throw_error(job.key, str(fields["code"])))

    def _work(self, fields: Mapping[str, Any], limit: int, do: Callable[[ActivatedJob], Any]) -> Answer:
        """Activate, then do each; the variables are those that the worker saw."""
        jobs = self.engine.activate_jobs(fields["type"], limit)
        if isinstance(jobs, Refusal):
            return _answer(jobs)
        instances = list(self.view.instances)
        seen = [
            {
                "instance": instances.index(job.instance_key),
                "element": job.element_id,
                "variables": dict(sorted(job.variables.items())),
            }
            for job in jobs
        ]
        answers = [_answer(do(job)) for job in jobs]
        refused = [answer for answer in answers if not answer["ok"]]
        return {**(refused[0] if refused else OK), "jobs": seen}

    def cancel(self, fields: Mapping[str, Any]) -> Answer:
        return _answer(self.engine.cancel_instance(self._instance(fields)))

    def set(self, fields: Mapping[str, Any]) -> Answer:
        return _answer(self.engine.set_variables(self._instance(fields), fields["variables"]))

    def resolve(self, fields: Mapping[str, Any]) -> Answer:
        instance = self._instance(fields)
        mine = [incident for incident in self.view.open_incidents() if incident.instance_key == instance]
        answers = [_answer(self.engine.resolve_incident(incident.key)) for incident in mine]
        return next((answer for answer in answers if not answer["ok"]), OK)

    def _instance(self, fields: Mapping[str, Any]) -> int:
        """By the name it was given, or `#2`: the third that came to be. Nobody is 0, which the engine does not find."""
        name = fields["instance"]
        if not name.startswith("#"):
            return self.named.get(name, 0)
        number = int(name[1:]) if name[1:].isdecimal() else -1
        instances = list(self.view.instances)
        return instances[number] if 0 <= number < len(instances) else 0


def _message(fields: Mapping[str, Any]) -> NewMessage:
    return NewMessage(
        fields["name"],
        str(fields.get("key", "")),
        fields.get("variables", {}),
        read_duration_ms(fields.get("ttl", 0), signed=True),
        str(fields.get("id", "")),
        fields.get("business_id", ""),
    )


def _answer(answer: Any) -> Answer:
    return {"ok": False, "error": answer.code} if isinstance(answer, Refusal) else OK
