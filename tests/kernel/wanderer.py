"""A wanderer: a long random walk of well-typed commands over one correlation key, the same for the same seed.

It plays the process half badly on purpose: answers come late, twice, or never, subscriptions close in the middle of a
correlation. `photograph` shows the whole state as plain values, and `check` says what must hold after every step.
"""

import random
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation import KeySpace, Message, Subscription, decide
from conjoin.kernel.correlation import commands as c
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.offers import next_message
from conjoin.kernel.instants import ALWAYS, NEVER, after
from conjoin.kernel.policies import CHOICES, read_policies
from conjoin.kernel.verdicts.verdicts import REASONS, verdict_of
from tests.kernel.attributes import attributes_of

TENANT = "<default>"
NAMES = ("paid", "shipped")
PROCESSES = ("order", "stock", "audit")


class Wanderer:
    """One walk. With `stale` answers also come for what was never, or is no longer, on its way."""

    def __init__(self, seed: object, *, stale: bool = False) -> None:
        self.chance = random.Random(str(seed))
        self.stale = stale
        self.now = 0
        self.space = KeySpace(TENANT, self.chance.choice(["k", "k", "k", ""]))
        self.catalog = self._catalog()
        self.messages: list[Message] = []
        self.subscriptions: list[Subscription] = []
        self.released: list[Message] = []
        self.events: list[e.Event] = []
        self.synchronous: set[int] = set()
        self.on_their_way: list[tuple[Subscription, Message]] = []

    def _catalog(self) -> Catalog:
        chance = self.chance
        questions = ("cardinality", "on_no_match", "duplicate_subscription", "start_uniqueness", "start_precedence")
        changes: dict[str, dict[str, object]] = {}
        for name in NAMES:
            changes[name] = {q: chance.choice(CHOICES[q]) for q in questions if chance.random() < 0.3}
            changes[name]["dedup"] = chance.choice(["while_buffered", "off", "20ms"])
        policies, problems = read_policies("zeebe", changes)
        assert problems == []
        starts = [
            StartSubscription(process, name, TENANT, "begin", ALWAYS, NEVER)
            for process in PROCESSES
            for name in NAMES
            if chance.random() < 0.25
        ]
        return Catalog(starts, policies)

    def commands(self, steps: int) -> Iterator[c.Command]:
        """What comes next follows from what was applied: the caller applies each before it asks for more."""
        kinds = [self.publish] * 5 + [self.open] * 5 + [self.acknowledge] * 5
        kinds += [self.reject] * 2 + [self.correlate, self.close, self.end, self.expire]
        for _ in range(steps):
            self.now += self.chance.choice([0, 0, 1, 2]) * 1_000
            if self.released and self.chance.random() < 0.7:
                yield self._offer(self.released.pop(0))
            else:
                yield self.chance.choice(kinds)()

    def carry_out(self, command: c.Command) -> list[e.Event]:
        decided = decide(self.space, command, self.catalog)
        for event in decided:
            event.apply(self.space)
            if isinstance(event, e.MessageReleased):
                self.released.append(event.message)
            elif isinstance(event, e.MessageCorrelated):
                self.on_their_way.append((event.subscription, event.message))
        if isinstance(command, c.AcknowledgeCorrelation):
            answered = (command.subscription_key, command.message_key)
            self.on_their_way = [pair for pair in self.on_their_way if (pair[0].key, pair[1].key) != answered]
        self.events += decided
        return decided

    def _offer(self, message: Message) -> c.Command:
        return c.CorrelateMessage(message, self.now) if message.sync else c.PublishMessage(message, self.now)

    def _message(self, ttl: int, message_id: str) -> Message:
        chance, name = self.chance, self.chance.choice(NAMES)
        deadline = after(self.now, ttl) if ttl > 0 else self.now
        ids = (message_id, chance.choice(["", "", "", "b-1", "b-2"]))
        message = Message(len(self.messages) + 1, name, self.now, deadline, self.catalog.policies.of(name), *ids)
        self.messages.append(message)
        return message

    def publish(self) -> c.Command:
        ttl = self.chance.choice([-1, 0, 0, 1, 5, 20, 20, 100, 2**63 - 1])
        return self._offer(self._message(ttl, self.chance.choice(["", "", "a", "b"])))

    def correlate(self) -> c.Command:
        message = self._message(0, "")
        message.sync = True
        self.synchronous.add(message.key)
        return self._offer(message)

    def open(self) -> c.Command:
        chance = self.chance
        key = f"s{chance.randrange(len(self.subscriptions) + 3)}"
        process = chance.choice(PROCESSES)
        subscription = Subscription(
            *(key, chance.randrange(1000), chance.choice(NAMES), process, f"{process}-{chance.randrange(4)}"),
            *("catch", self.now, chance.random() < 0.6, chance.choice(["", "", "b-1", "b-2"])),
        )
        self.subscriptions.append(subscription)
        return c.OpenSubscription(subscription, self.now)

    def close(self) -> c.Command:
        return c.CloseSubscription(f"s{self.chance.randrange(len(self.subscriptions) + 2)}", self.now)

    def acknowledge(self) -> c.Command:
        open_ones = [pair for pair in self.on_their_way if self.stale or not pair[0].closed]
        if open_ones and self.chance.random() < 0.8:
            subscription, message = self.chance.choice(open_ones)
            return c.AcknowledgeCorrelation(subscription.key, message.key, self.now)
        number = self.chance.randrange(len(self.messages) + 2)
        return c.AcknowledgeCorrelation(f"s{self.chance.randrange(len(self.subscriptions) + 2)}", number, self.now)

    def reject(self) -> c.Command:
        """A refusal may also come from a subscription that was closed meanwhile."""
        if self.stale and self.messages and self.subscriptions and self.chance.random() < 0.5:
            pair = self.chance.choice(self.subscriptions), self.chance.choice(self.messages)
            return c.RejectCorrelation(*pair, self.now, "never mind")
        if not self.on_their_way:
            return self.close()
        pair = self.on_their_way.pop(self.chance.randrange(len(self.on_their_way)))
        return c.RejectCorrelation(*pair, self.now, "scope left")

    def end(self) -> c.Command:
        process = self.chance.choice(PROCESSES)
        lock = self.space.locks.get(process)
        known = lock.instance_id if lock else "nobody"
        return c.EndInstance(process, self.chance.choice([None, known, "somebody else"]), self.now)

    def expire(self) -> c.Command:
        return c.ExpireMessages(self.now, self.chance.choice([0, 1, 3, 2**63 - 1]))


def photograph(walk: Wanderer) -> dict[str, Any]:
    """Everything that is known, as plain values: records by their keys, nothing shared with the state."""
    return {
        "space": _plain_space(walk.space),
        "messages": [_plain_record(message) for message in walk.messages],
        "subscriptions": [_plain_record(subscription) for subscription in walk.subscriptions],
    }


def _plain_space(space: KeySpace) -> dict[str, Any]:
    return {
        "subscriptions": {key: id_of(s) for key, s in space.subscriptions.items()},
        "locks": {p: (lock.instance_id, lock.since, plain(lock.message)) for p, lock in space.locks.items()},
        "deadlines": [(at, key) for at, key, _ in space.deadlines],
        "topics": {name: _plain_topic(topic) for name, topic in space.topics.items()},
    }


def _plain_topic(topic: Any) -> dict[str, Any]:
    end = topic.last_closed
    return {
        "lanes": {p: ([id_of(s) for s in lane.waiting], lane.head, lane.open) for p, lane in topic.lanes.items()},
        "messages": [message.key for message in topic.messages],
        "counts": (topic.head, topic.gone),
        "cursors": dict(topic.cursors or {}),
        "ids": {message_id: message.key for message_id, message in (topic.ids or {}).items()},
        "held": [message.key for message in topic.held or ()],
        "missed": [message.key for message in topic.missed or ()],
        "last_closed": end and (id_of(end.subscription), end.at),
    }


def id_of(subscription: Subscription) -> tuple[Any, ...]:
    return (subscription.key, subscription.rank, subscription.opened_at)


def _plain_record(record: Any) -> dict[str, Any]:
    return {name: plain(getattr(record, name)) for name in attributes_of(record)}


def plain(value: Any) -> Any:
    if isinstance(value, Message):
        return ("message", value.key)
    if isinstance(value, Subscription):
        return ("subscription", *id_of(value))
    if type(value).__module__ == e.__name__:
        return (type(value).__name__, *(plain(getattr(value, field.name)) for field in fields(value)))
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def check(walk: Wanderer) -> None:
    """What must hold after every step, whatever the commands were."""
    for name, topic in walk.space.topics.items():
        waiting = [s for s in walk.space.subscriptions.values() if s.name == name]
        assert sorted(map(id_of, topic.open_subscriptions())) == sorted(map(id_of, waiting))
        for lane in topic.lanes.values():
            ranks = [subscription.rank for subscription in lane]
            assert ranks == sorted(ranks)
            assert len(ranks) == lane.open > 0
        keys = [message.key for message in topic.messages if message.stored]
        assert keys == sorted(m.key for m in walk.messages if m.stored and m.name == name)
        for message in topic.held or ():
            assert any(s.name == name for s, _ in walk.on_their_way), f"{message} is held, and nobody will answer"
        for mark, index in (topic.cursors or {}).items():
            assert all(mark in message.marks for message in topic.messages[:index] if message.stored)
    for message in walk.messages:
        _check_message(walk, message)
    for subscription in walk.space.subscriptions.values():
        if subscription.busy_with is None:
            left = next_message(walk.space, subscription, walk.now, walk.catalog)
            assert left is None, f"{subscription} waits, and {left} is stored for it"


def _check_message(walk: Wanderer, message: Message) -> None:
    cardinality = message.policy.cardinality
    subscriptions = [t.subscription for t in message.targets if isinstance(t, e.MessageCorrelated)]
    starts = [t.process_id for t in message.targets if isinstance(t, e.InstanceStarted)]
    assert bool(message.marks) == bool(message.targets)
    assert len(set(starts)) == len(starts)
    if cardinality == "exactly_one":
        assert len(message.targets) <= 1
    if cardinality == "once_per_process":
        processes = [s.process_id for s in subscriptions] + starts
        assert len(set(processes)) == len(processes), f"{message} was taken twice by one process"
    if cardinality == "once_per_instance":
        assert len({(s.process_id, s.instance_id) for s in subscriptions}) == len(subscriptions)
    if message.key in walk.synchronous:
        assert not message.stored
    verdict = verdict_of(walk.space, message, walk.now, walk.catalog)
    assert verdict.reason in REASONS[verdict.verdict]
