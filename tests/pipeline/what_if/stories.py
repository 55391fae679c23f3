"""Stories that can be told twice: every act is drawn beforehand and names what it is about by tags, not by keys.

So the second telling, under other policies, does the same things at the same times to whatever is there then.
"""

from random import Random
from typing import Any, NamedTuple

from conjoin.pipeline.what_if.judged import Judged
from conjoin.pipeline.what_if.lockstep import note, replay, settled
from conjoin.pipeline.what_if.question import TTL, Question
from conjoin.pipeline.what_if.recorded import Recorded, recorded_commands
from conjoin.pipeline.what_if.rules import read_rules
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.messages import read_message
from conjoin.runtime.opening import temporary_broker
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock

MINUTE_MS = 60_000
JOBS = ("j1", "j2", "work")


class Act(NamedTuple):
    kind: str
    told: tuple[Any, ...] = ()


class Fate(NamedTuple):
    """What became of a message, in words that two tellings share."""

    verdict: str
    reason: str
    receivers: int


REFUSED = Fate("refused", "", 0)
_AS_ONE_LOOKS = ("buffered", "expired")
"""Why nobody has it depends on when somebody looked, or when it was swept."""


def fate(verdict: str, reason: str, receivers: list[Any]) -> Fate:
    if verdict == "refused":
        return REFUSED
    return Fate(verdict, "" if verdict in _AS_ONE_LOOKS else reason, len(receivers))


class Telling:
    """One telling of a story on a store of its own; `fates` are those of its messages, in their order."""

    def __init__(self, models: dict[str, bytes], shards: int = 1) -> None:
        self.clock = FakeClock()
        self.broker: Broker = temporary_broker(shards, self.clock)
        self.broker.deploy(list(models.items()))
        self.ttl_ms: dict[str, int] = {}
        self._created: list[int] = []
        self._answers: list[int | str] = []
        """Of each publication the key of the message, or why it was refused."""

    def change(self, changes: dict[str, dict[str, Any]]) -> None:
        for name, answers in changes.items():
            if TTL in answers:
                self.ttl_ms[name] = answers[TTL]
            policies = {question: answer for question, answer in answers.items() if question != TTL}
            if policies:
                self.broker.catalog.set_policy(name, policies, self.clock())

    def do(self, acts: list[Act]) -> None:
        for act in acts:
            getattr(self, f"_{act.kind}")(*act.told)

    def _start(self, process_id: str, variables: dict[str, Any]) -> None:
        created = self.broker.create_instance(process_id, variables)
        self._created.append(created.key if isinstance(created, CreatedInstance) else 0)

    def _publish(self, message: NewMessage) -> None:
        ttl_ms = self.ttl_ms.get(message.name, self.ttl_ms.get("*", message.ttl_ms))
        said = NewMessage(message.name, message.key, message.variables, ttl_ms, message.message_id)
        answer = self.broker.publish(said)
        self._answers.append(answer.key if isinstance(answer, PublishedMessage) else answer.code)

    def _advance(self, minutes: int) -> None:
        self.clock.advance_ms(minutes * MINUTE_MS)
        self.broker.tick()

    def _complete(self, tag: int, variables: dict[str, Any]) -> None:
        for kind in JOBS:
            jobs = self.broker.activate_jobs(kind, 1_000, timeout_ms=1)
            for job in jobs if isinstance(jobs, list) else ():
                if job.variables.get("tag") == tag:
                    self.broker.complete_job(job.key, variables)
        # Those that were not meant can be worked on again.
        self.clock.advance_ms(1)
        self.broker.tick()

    def _cancel(self, number: int) -> None:
        if number < len(self._created):
            self.broker.cancel_instance(self._created[number])

    def _signal(self) -> None:
        self.broker.broadcast_signal("s1", {})

    def keys(self) -> list[int | None]:
        """Of the messages, in their order; None of what was refused."""
        return [answer if isinstance(answer, int) else None for answer in self._answers]

    def fates(self) -> list[Fate]:
        """As the store has them; of what was refused, only that."""
        its = _stored(self.broker)
        return [its[answer] if isinstance(answer, int) else REFUSED for answer in self._answers]


def _stored(broker: Broker) -> dict[int, Fate]:
    view = broker.catalog.view()
    found = {}
    for row in broker.store.rows(t.MESSAGE, {}, None, 100_000):
        message, *_ = read_message(row, view.policy_of(row.name, row.policy_version), {})
        found[row.key] = fate(row.verdict, row.reason, list(message.targets))
    return found


def what_if(broker: Broker, question: Question) -> list[Judged]:
    """All in this process; the messages in the order of their shard and key."""
    rules = read_rules(broker, question)
    told = [row for shard in range(broker.shard_count) for row in recorded_commands(broker, shard, question.until)]
    note(rules, told)
    rows = sorted((row for row in told if row.kind not in ("child", "stuck")), key=_place)
    doubts = settled(lambda known: [said for _, some in replay(rows, rules, known) for said in some])
    judged = [it for some, _ in replay(rows, rules, doubts) for it in some]
    return sorted(judged, key=lambda it: it.message_key)


def _place(row: Recorded) -> tuple[Any, ...]:
    return row.tenant_id, row.key, row.shard, row.number


def told_twice(
    models: dict[str, bytes], acts: list[Act], cut: int, changes: dict[str, dict[str, Any]], shards: int = 1
) -> "Twice":
    """The second time under changed policies from the act `cut` on."""
    first, second = Telling(models, shards), Telling(models, shards)
    for telling in (first, second):
        telling.do(acts[:cut])
        telling.clock.advance_ms(1)
    since = first.clock()
    second.change(changes)
    for telling in (first, second):
        telling.do(acts[cut:])
    return Twice(first, second, since)


class Twice(NamedTuple):
    first: Telling
    second: Telling
    since: int

    def close(self) -> None:
        self.first.broker.close()
        self.second.broker.close()


def random_acts(chance: Random, count: int, processes: tuple[str, ...], names: tuple[str, ...]) -> list[Act]:
    """Few keys and names, so that they meet; jobs are mostly those of what happened lately."""
    acts: list[Act] = []
    tags = [0]
    for tag in range(count):
        kind = chance.choices(("start", "publish", "advance", "complete", "cancel", "signal"), (6, 12, 3, 7, 1, 1))[0]
        if kind == "start":
            told: tuple[Any, ...] = (chance.choice(processes), _variables(chance, tag))
        elif kind == "publish":
            told = (_message(chance, tag, names),)
        elif kind == "advance":
            told = (chance.choice([1, 3, 12, 40]),)
        else:
            told = {"complete": (chance.choice(tags[-6:]), {"v": chance.randint(0, 5)}), "cancel": (tag // 5,)}.get(
                kind, ()
            )
        tags += [tag] if kind in ("start", "publish") else []
        acts.append(Act(kind, told))
    return [*acts, Act("advance", (1,))]


def _message(chance: Random, tag: int, names: tuple[str, ...]) -> NewMessage:
    variables = _variables(chance, tag) if chance.random() < 0.6 else {"tag": tag, "v": chance.randint(0, 5)}
    ttl_ms = chance.choice([0, 0, 2 * MINUTE_MS, 30 * MINUTE_MS, None])
    return NewMessage(chance.choice(names), chance.choice("ab"), variables, ttl_ms, chance.choice(["", "", "", "x"]))


def _variables(chance: Random, tag: int) -> dict[str, Any]:
    key = chance.choice
    items = [key("ab") for _ in range(chance.randint(0, 2))]
    return {"k1": key("ab"), "k2": key("ab"), "v": chance.randint(0, 5), "tag": tag, "items": items}
