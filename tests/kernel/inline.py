"""Plays a history on the kernel alone, command by command, and tells the outcome in the oracle's words.

It is the smallest honest runner: it puts rows in order, hands them over as commands, and accepts every delivery.
"""

from collections import defaultdict
from typing import Any

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation import KeySpace, Message, Subscription, decide
from conjoin.kernel.correlation import commands as c
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.messages import deadline_of
from conjoin.kernel.correlation.uniqueness import remembered_until
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.kernel.policies import read_policies
from conjoin.kernel.verdicts.verdicts import verdict_of
from tests.oracle.facts import Outcome, instant_of_judgement
from tests.oracle.history import History, Row

DEFAULT_TENANT = "<default>"
END, CLOSE, OPEN, PUBLISH = range(4)


def catalog_of(history: History) -> Catalog:
    policies, problems = read_policies(history.profile, history.policies)
    assert problems == []
    starts = [
        StartSubscription(
            row["process_id"],
            row["name"],
            row.get("tenant_id") or DEFAULT_TENANT,
            row.get("element_id"),
            ALWAYS if row.get("from_at") is None else row["from_at"],
            NEVER if row.get("until_at") is None else row["until_at"],
        )
        for row in history.starts
    ]
    return Catalog(starts, policies, lambda tenant, key, message, start: message.payload)


class Inline:
    def __init__(self, history: History) -> None:
        self.catalog = catalog_of(history)
        self.as_of = instant_of_judgement(history)
        self.outcome = Outcome()
        self.spaces: dict[tuple[str, str], KeySpace] = {}
        self.messages: list[tuple[Message, KeySpace]] = []
        self.subscriptions: dict[str, Subscription] = {}
        self.log: dict[int, list[e.Event]] = defaultdict(list)

    def space_of(self, row: Row) -> KeySpace:
        place = (row.get("tenant_id") or DEFAULT_TENANT, row.get("correlation_key") or "")
        return self.spaces.setdefault(place, KeySpace(*place))

    def carry_out(self, space: KeySpace, command: c.Command) -> list[e.Event]:
        queue = [command]
        answered: list[e.Event] = []
        for order in queue:
            for event in decide(space, order, self.catalog):
                event.apply(space)
                answered.append(event)
                if isinstance(event, e.MessageCorrelated):
                    queue.append(c.AcknowledgeCorrelation(event.subscription.key, event.message.key, event.at))
        return answered

    def publish(self, row: Row, key: int) -> None:
        at, policy = row["published_at"], self.catalog.policies.of(row["name"])
        deadline = deadline_of(at, row.get("ttl_ms"), policy)
        ids = (row.get("message_id") or "", row.get("business_id") or "")
        message = Message(key, row["name"], at, deadline, policy, *ids, payload=row["position"])
        space = self.space_of(row)
        self.messages.append((message, space))
        self.carry_out(space, c.PublishMessage(message, at))

    def open(self, row: Row, rank: int) -> None:
        subscription = Subscription(
            row["subscription_id"],
            rank,
            row["name"],
            row["process_id"],
            row["instance_id"],
            row["element_id"],
            row["opened_at"],
            row.get("interrupting") is not False,
            row.get("business_id") or "",
        )
        command = c.OpenSubscription(subscription, row["opened_at"])
        first = self.carry_out(self.space_of(row), command)[0]
        if isinstance(first, e.SubscriptionRefused):
            self.outcome.refused_subscriptions.add(subscription.key)

    def close(self, row: Row) -> None:
        space = self.space_of(row)
        if row["subscription_id"] in space.subscriptions:
            self.carry_out(space, c.CloseSubscription(row["subscription_id"], row["closed_at"]))

    def end(self, row: Row) -> None:
        command = c.EndInstance(row["process_id"], None, row["ended_at"])
        if not self.carry_out(self.space_of(row), command):
            self.outcome.ends_ignored += 1

    def expire(self, at: int) -> None:
        for space in self.spaces.values():
            self.carry_out(space, c.ExpireMessages(at))

    def tell(self) -> Outcome:
        outcome = self.outcome
        for message, space in self.messages:
            position = message.payload
            verdict = verdict_of(space, message, self.as_of, self.catalog)
            outcome.verdicts[position] = (verdict.verdict, verdict.reason)
            outcome.decided_at[position] = verdict.decided_at
            outcome.pairs |= {pair_of(position, target) for target in message.targets}
            if message.stored:
                outcome.buffered[position] = sorted({target.process_id for target in message.targets})
        for space in self.spaces.values():
            outcome.open |= set(space.subscriptions)
            place = (space.tenant_id, space.key)
            for process_id, lock in space.locks.items():
                outcome.locks[place[0], process_id, place[1]] = lock.instance_id
            for name, topic in space.topics.items():
                for message in (topic.ids or {}).values():
                    if remembered_until(message) > self.as_of:
                        outcome.ids.add((place[0], name, place[1], message.message_id, remembered_until(message)))
        return outcome


def pair_of(position: int, target: Any) -> tuple[Any, ...]:
    if isinstance(target, e.InstanceStarted):
        return (position, "start", target.process_id, None, target.start.element_id, target.at)
    it = target.subscription
    return (position, "subscription", it.process_id, it.key, it.element_id, target.at)


def play_inline(history: History) -> Outcome:
    """The whole history, in the order of `bulk.md`, up to its instant of judgement."""
    inline = Inline(history)
    steps: list[tuple[tuple[Any, ...], Any, Row]] = []
    for row in history.ends:
        steps.append(((row["ended_at"], END), inline.end, row))
    for row in history.subscriptions:
        opened_at, closed_at = row["opened_at"], row.get("closed_at")
        if closed_at is not None and closed_at <= opened_at:
            continue
        steps.append(((opened_at, OPEN, row["subscription_id"]), inline.open, row))
        if closed_at is not None and opened_at <= inline.as_of:
            steps.append(((closed_at, CLOSE), inline.close, row))
    for row in history.messages:
        steps.append(((row["published_at"], PUBLISH, row["position"]), inline.publish, row))
    steps.sort(key=lambda step: step[0])
    for number, (when, do, row) in enumerate(steps):
        if when[0] <= inline.as_of:
            inline.expire(when[0])
            do(row, number) if when[1] in (OPEN, PUBLISH) else do(row)
    inline.expire(inline.as_of)
    return inline.tell()
