"""One correlation key may hold hundreds of thousands of messages and subscriptions, and each costs about the same.

Nothing is timed here: a pattern whose cost grows with the square of its size would simply not come to its end.
`LARGE=200000` makes the tests larger; `pytest --durations=0` shows what each took.
"""

import os
import random

import pytest

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation import KeySpace, Message, Subscription, decide
from conjoin.kernel.correlation import commands as c
from conjoin.kernel.correlation import events as e
from conjoin.kernel.instants import NEVER
from conjoin.kernel.policies import Policies, Policy

LARGE = int(os.environ.get("LARGE", "25000"))
TENANT = "<default>"
HOUR = 3_600_000_000


class Crowd:
    """One key, and commands by the hundred thousand. Deliveries are acknowledged only when told so."""

    def __init__(self, policy: Policy | None = None, starts: tuple[str, ...] = ()) -> None:
        self.space = KeySpace(TENANT, "k")
        self.policy = policy or Policy()
        begin = [StartSubscription(process, "paid", TENANT) for process in starts]
        self.catalog = Catalog(begin, Policies(self.policy))
        self.count = 0
        self.delivered: list[tuple[Subscription, Message]] = []
        self.started = 0

    def do(self, command: c.Command) -> None:
        for event in decide(self.space, command, self.catalog):
            event.apply(self.space)
            if isinstance(event, e.MessageCorrelated):
                self.delivered.append((event.subscription, event.message))
            elif isinstance(event, e.InstanceStarted):
                self.started += 1

    def publish(self, deadline: int = HOUR, business: str = "") -> None:
        self.count += 1
        self.do(c.PublishMessage(Message(self.count, "paid", 0, deadline, self.policy, business_id=business), 0))

    def open(self, process: str = "order", interrupting: bool = True, rank: int | None = None, **more: str) -> None:
        self.count += 1
        it = (self.count, rank or self.count, "paid", process, self.count, None, 0, interrupting)
        self.do(c.OpenSubscription(Subscription(*it, **more), 0))

    def acknowledge(self) -> None:
        for subscription, message in self.delivered:
            self.do(c.AcknowledgeCorrelation(subscription.key, message.key, 0))
        self.delivered = []


def test_a_long_buffer_is_taken_one_by_one() -> None:
    crowd = Crowd()
    for _ in range(LARGE):
        crowd.publish()
    for number in range(LARGE):
        crowd.open()
        assert crowd.delivered[0][1].key == number + 1
        crowd.acknowledge()
    assert crowd.space.subscriptions == {}


def test_many_subscriptions_wait_and_are_served_one_by_one() -> None:
    crowd = Crowd()
    for _ in range(LARGE):
        crowd.open()
    for number in range(LARGE):
        crowd.publish()
        assert crowd.delivered[0][0].key == number + 1
        crowd.acknowledge()
    assert crowd.space.subscriptions == {}


def test_many_subscriptions_close_in_any_order_while_messages_come(seed: int) -> None:
    crowd = Crowd()
    for _ in range(LARGE):
        crowd.open()
    keys = list(crowd.space.subscriptions)
    random.Random(seed).shuffle(keys)
    for number, key in enumerate(keys):
        crowd.do(c.CloseSubscription(key, 0))
        if number % 10 == 0:
            crowd.publish()
            crowd.acknowledge()
    assert crowd.space.subscriptions == {}


def test_many_subscriptions_open_against_the_order_of_their_rank() -> None:
    crowd = Crowd()
    for number in range(LARGE // 4):
        crowd.open(rank=LARGE - number)
    for _ in range(LARGE // 4):
        crowd.publish()
        crowd.acknowledge()
    assert crowd.space.subscriptions == {}


def test_a_long_queue_behind_a_lock_is_freed_one_by_one() -> None:
    crowd = Crowd(starts=("order",))
    for _ in range(LARGE):
        crowd.publish()
    for _ in range(LARGE):
        crowd.do(c.EndInstance("order", None, 0))
    assert crowd.started == LARGE
    assert crowd.space.locks == {}


def test_a_long_buffer_is_taken_by_two_processes_in_turn() -> None:
    crowd = Crowd()
    for _ in range(LARGE):
        crowd.publish()
    for number in range(LARGE):
        crowd.open("order")
        if number % 3 == 0:
            crowd.open("stock")
        crowd.acknowledge()
    assert crowd.space.subscriptions == {}


@pytest.mark.parametrize("cardinality", ["once_per_process", "once_per_instance", "all", "exactly_one"])
def test_a_non_interrupting_subscription_works_through_a_long_buffer(cardinality: str) -> None:
    crowd = Crowd(Policy(cardinality=cardinality))
    for _ in range(LARGE):
        crowd.publish()
    crowd.open(interrupting=False)
    taken = 0
    while crowd.delivered:
        (subscription, message), crowd.delivered = crowd.delivered[0], []
        taken += 1
        crowd.do(c.AcknowledgeCorrelation(subscription.key, message.key, 0))
    assert taken == LARGE


def test_a_long_buffer_expires_at_once_and_bit_by_bit() -> None:
    crowd = Crowd()
    for number in range(LARGE):
        crowd.publish(deadline=1 + (number * 7919) % LARGE)
    for at in range(0, LARGE // 2, 100):
        crowd.do(c.ExpireMessages(at))
    crowd.do(c.ExpireMessages(NEVER))
    assert crowd.space.deadlines == []


def test_one_message_reaches_every_subscription() -> None:
    crowd = Crowd(Policy(cardinality="all"))
    for _ in range(LARGE):
        crowd.open()
    crowd.publish()
    assert len(crowd.delivered) == LARGE
    crowd.acknowledge()
    assert crowd.space.subscriptions == {}


def test_one_stored_message_reaches_every_later_subscription() -> None:
    crowd = Crowd(Policy(cardinality="all"))
    crowd.publish()
    for _ in range(LARGE):
        crowd.open()
    assert len(crowd.delivered) == LARGE
