"""Mistakes planted in stores: a crowd that waits, one instance that a message means, and a slip in between.

A crowd is loaded in bulk: rows that the broker has written once, with other keys. The clock stands still until it is
moved, so what comes early or late does so by as much as is said here.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks.explain import models
from benchmarks.explain.keys import SLIPS, fresh_keys, slipped
from benchmarks.explain.tally import NOTHING, Judged, percentile
from conjoin.kernel.keys import COUNTER_BITS
from conjoin.kernel.verdicts.near_miss_sentences import near_miss
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.explain.explain import explain, explain_named
from conjoin.runtime.explain.explanation import Explanation
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.store import tables as t
from conjoin.store.port import Head
from conjoin.store.rows import InstanceRow
from conjoin.testing.clock import FakeClock

HOUR_MS = 3_600_000
ACME = "acme"
_SAMPLE = "order-sample"
_KEYS_EACH = 5


class World:
    """A store with a crowd that waits for `Payment received`, each with a key of one kind."""

    def __init__(self, kind: str, crowd: int, shards: int, rng: random.Random) -> None:
        self.kind, self.crowd, self.rng = kind, crowd, rng
        self.clock = FakeClock()
        self.broker = temporary_broker(shards, self.clock)
        self.keys = fresh_keys(kind, rng)
        self._load(shards)
        deploy(self.broker)
        self.broker.deploy([("orders.bpmn", models.orders())], ACME)
        self.clock.advance_ms(HOUR_MS)

    def _load(self, shards: int) -> None:
        samples = [sample("order"), sample("renewal")]
        keys = [next(self.keys) for _ in range(self.crowd)]
        for index in range(shards):
            here = [key for key in keys if shard_of(key, shards) == index]
            first = (index + 1) << COUNTER_BITS
            rows = (
                waiting(samples[place % 2], first | place * _KEYS_EACH + 1, key, place * 1_000)
                for place, key in enumerate(here)
            )
            head = Head(1, len(here) * _KEYS_EACH + 10, self.clock(), 0)
            self.broker.store.shard(index).load(head, {t.INSTANCE: rows})

    def start(self, process: str = "order", key: str = "", tenant_id: str = "<default>", **variables: Any) -> int:
        given = {"orderId": key, "customer": "c-1", **variables}
        created = self.broker.create_instance(process, given, tenant_id=tenant_id)
        assert isinstance(created, CreatedInstance), created
        return created.key

    def waits(self, key: str, **more: Any) -> int:
        return self.start("order", key, approved=True, **more)

    def explained(self, name: str, key: str, **more: Any) -> tuple[Explanation, float]:
        """A message that nobody is meant to take, and what is said of it; the time of the explanation."""
        published = self.broker.publish(NewMessage(name, key, {}, **{"ttl_ms": 0, **more}))
        assert isinstance(published, PublishedMessage), published
        return self._timed(lambda: explain(self.broker, published.key))

    def refused(self, new: NewMessage) -> tuple[Explanation, float]:
        self.broker.publish(new)
        return self._timed(lambda: explain_named(self.broker, new).known[0])

    def _timed(self, ask: Callable[[], Any]) -> tuple[Explanation, float]:
        began = time.perf_counter()
        found = ask()
        assert isinstance(found, Explanation), found
        return found, (time.perf_counter() - began) * 1_000


def deploy(broker: Broker) -> None:
    broker.deploy([("orders.bpmn", models.orders())])
    for version in models.HANDED_OVER:
        broker.deploy([("parcels.bpmn", models.parcels(version))])


def sample(process: str) -> InstanceRow:
    """What the broker writes for one that waits."""
    broker = temporary_broker(1, FakeClock())
    deploy(broker)
    given = {"orderId": _SAMPLE, "customer": "c-1", "approved": True}
    assert isinstance(broker.create_instance(process, given), CreatedInstance)
    [row] = broker.store.rows(t.INSTANCE, {}, None, 1)
    broker.close()
    assert isinstance(row, InstanceRow)
    return row


def waiting(row: InstanceRow, key: int, correlation_key: str, later_us: int) -> InstanceRow:
    """The same with other keys."""
    body = row.body
    for part, other in ((row.key, key), (row.wait_element_key, key + 2), (row.wait_key, key + 3)):
        body = body.replace(str(part), str(other))
    body = body.replace(_SAMPLE, correlation_key)
    waits = {"wait_on": correlation_key, "wait_key": key + 3, "wait_element_key": key + 2}
    times = {"started_at": row.started_at + later_us, "wait_opened_at": row.wait_opened_at + later_us}
    return row._replace(key=key, tree_key=key, body=body, **waits, **times)


Plant = Callable[[World, str], tuple[bool, Explanation, float]]
"""Plants one mistake about a fresh key; whether its true cause came first, and what was said."""


def _first(found: Explanation) -> Mapping[str, Any]:
    return found.near_misses[0] if found.near_misses else {}


def _is(found: tuple[Explanation, float], **about: Any) -> tuple[bool, Explanation, float]:
    """The near miss that came first has these; `kind` is one of several, if it is a tuple."""
    first = _first(found[0])
    kinds = about.pop("kind")
    right = first.get("kind") in (kinds if isinstance(kinds, tuple) else (kinds,))
    return right and all(first.get(name) == value for name, value in about.items()), *found


def _slip_in_key(slip: str) -> Plant:
    def plant(world: World, key: str) -> tuple[bool, Explanation, float]:
        order = world.waits(key)
        found = world.explained(models.PAID, slipped(world.kind, slip, key, world.rng))
        return _is(found, kind="other_key", instance=order, key=key)

    return plant


def _name_in_case(world: World, key: str) -> tuple[bool, Explanation, float]:
    order = world.waits(key)
    wrong = world.rng.choice((models.PAID.upper(), models.PAID.replace(" ", "  "), models.PAID.replace(" ", "")))
    return _is(world.explained(wrong, key), kind="other_name", instance=order)


def _typo_in_name(world: World, key: str) -> tuple[bool, Explanation, float]:
    order = world.waits(key)
    place = world.rng.randrange(1, len(models.PAID))
    return _is(world.explained(models.PAID[:place] + models.PAID[place + 1 :], key), kind="other_name", instance=order)


def _wrong_name(world: World, key: str) -> tuple[bool, Explanation, float]:
    """It waits for its money, and something is sent that no model of this instance waits for."""
    order = world.waits(key)
    return _is(world.explained("Payment booked", key), kind="other_name", instance=order)


def _wrong_tenant(world: World, key: str) -> tuple[bool, Explanation, float]:
    order = world.waits(key, tenant_id=ACME)
    return _is(world.explained(models.PAID, key), kind="other_tenant", instance=order)


def _too_early(name: str) -> Plant:
    def plant(world: World, key: str) -> tuple[bool, Explanation, float]:
        order = world.start("order", key)
        return _is(world.explained(name, key), kind="too_early", instance=order)

    return plant


def _too_early_while_it_waits(world: World, key: str) -> tuple[bool, Explanation, float]:
    """It waits for something else on its key, and for this afterwards."""
    order = world.waits(key)
    return _is(world.explained(models.DELIVERED, key), kind="too_early", instance=order)


def _too_early_and_came(world: World, key: str) -> tuple[bool, Explanation, float]:
    """Explained when it waits already."""
    world.start("order", key)
    published = world.broker.publish(NewMessage(models.PAID, key, {}, 0))
    world.clock.advance_ms(90_000)
    order = world.waits(key)
    return _is(world._timed(lambda: explain(world.broker, published.key)), kind="expired_before", instance=order)


def _too_late(world: World, key: str) -> tuple[bool, Explanation, float]:
    order = world.waits(key)
    world.broker.publish(NewMessage(models.PAID, key))
    world.clock.advance_ms(60_000)
    return _is(world.explained(models.PAID, key), kind="closed_before", instance=order)


def _cancelled(world: World, key: str) -> tuple[bool, Explanation, float]:
    order = world.waits(key)
    world.broker.cancel_instance(order)
    world.clock.advance_ms(5_000)
    return _is(world.explained(models.PAID, key), kind="closed_before", instance=order)


def _duplicate(world: World, key: str) -> tuple[bool, Explanation, float]:
    new = NewMessage(models.PAID, key, {}, HOUR_MS, "payment-1")
    first = world.broker.publish(new)
    found, took = world.refused(new)
    right = found.reason == "duplicate_id" and found.parameters.get("first_message") == first.key
    return right and not found.near_misses, found, took


def _locked(world: World, key: str) -> tuple[bool, Explanation, float]:
    holder = explain(world.broker, world.broker.publish(NewMessage(models.OPENED, key)).key).attempts[0].instance
    return _is(world.explained(models.OPENED, key, ttl_ms=HOUR_MS), kind="lock_held", instance=holder)


def _incident(world: World, key: str) -> tuple[bool, Explanation, float]:
    claim = world.start("claim", key)
    return _is(world.explained(models.CHECKED, key), kind="incident", instance=claim)


def _old_version(world: World, key: str) -> tuple[bool, Explanation, float]:
    """It runs on the first version, which waits for another name."""
    parcel = world.broker.create_instance("parcel", {"orderId": key}, version=1).key
    found = world.explained(models.HANDED_OVER[2], key)
    return _is(found, kind="other_name", name=models.HANDED_OVER[1], instance=parcel)


def _nothing(world: World, key: str) -> tuple[bool, Explanation, float]:
    """Nobody ever had this key, though others wait for the name, are at work, or stand still."""
    name = world.rng.choice((models.PAID, models.PAID, models.CANCELLED, models.CHECKED, models.DELIVERED))
    found, took = world.explained(name, key)
    return not found.near_misses, found, took


PLANTS: dict[str, Plant] = {
    "name: case or blanks": _name_in_case,
    "name: typo": _typo_in_name,
    "name: another": _wrong_name,
    "name: of another version": _old_version,
    "wrong tenant": _wrong_tenant,
    "too early: before its wait": _too_early(models.PAID),
    "too early: boundary event": _too_early(models.CANCELLED),
    "too early: event subprocess": _too_early(models.ADDRESS),
    "too early: after another wait": _too_early_while_it_waits,
    "too early: it has come since": _too_early_and_came,
    "too late: taken": _too_late,
    "too late: cancelled": _cancelled,
    "duplicate id": _duplicate,
    "locked": _locked,
    "incident": _incident,
}
MILLION, _ASKED = 1_000_000, 300


def among_a_million(rng: random.Random) -> dict[str, float]:
    """How long an explanation takes among so many: every second message has a slip, of the others nobody is near."""
    world = World("prefixed", MILLION, 1, rng)
    wall, cpu = [], []
    for number in range(_ASKED):
        key = next(world.keys)
        if number % 2:
            world.waits(key)
            key = slipped("prefixed", rng.choice(list(SLIPS["prefixed"])), key, rng)
        published = world.broker.publish(NewMessage(models.PAID, key))
        began, began_cpu = time.perf_counter(), time.process_time()
        explain(world.broker, published.key)
        wall.append((time.perf_counter() - began) * 1_000)
        cpu.append((time.process_time() - began_cpu) * 1_000)
    world.broker.close()
    took = {"wall": wall, "cpu": cpu}
    return {f"{what}_p{share}_ms": percentile(ms, share) for what, ms in took.items() for share in (50, 99)}


CROWDS = (100, 1_000, 10_000, 100_000)


def judged(kinds: tuple[str, ...], crowds: tuple[int, ...], each: int, rng: random.Random) -> Iterator[Judged]:
    """`each`: so many of each slip, and ten times as many where nothing is near."""
    for kind in kinds:
        for place, crowd in enumerate(crowds):
            world = World(kind, crowd, (1, 3)[place % 2], rng)
            plants = {f"key: {slip}": _slip_in_key(slip) for slip in SLIPS[kind]} | PLANTS
            order = [slip for slip in plants for _ in range(each)] + [NOTHING] * 10 * each
            rng.shuffle(order)
            for slip in order:
                world.clock.advance_ms(1_000)
                right, found, took = plants.get(slip, _nothing)(world, next(world.keys))
                misses = to_plain(found.near_misses[:3])
                told = "" if right else f"{found.sentence} {[near_miss(miss) for miss in misses]}"
                yield Judged("store", kind, slip, crowd, right, told, took)
            world.broker.close()
