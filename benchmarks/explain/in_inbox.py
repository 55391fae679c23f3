"""Mistakes planted in an inbox: a message that is tried once, parked, and then shown with what comes near."""

import random
import time
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.explain.in_store import World
from benchmarks.explain.keys import SLIPS, slipped
from benchmarks.explain.models import CANCELLED, PAID
from benchmarks.explain.tally import NOTHING, Judged
from conjoin.kernel.inbox import PRESETS
from conjoin.kernel.inbox.accepting import Arrival
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.message import Hint
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.store import tables as t

_CHANNEL = "orders"
EARLY = ("too early: before its wait", "too early: boundary event")


def judged(kinds: tuple[str, ...], crowds: tuple[int, ...], each: int, rng: random.Random) -> Iterator[Judged]:
    for kind in kinds:
        for place, crowd in enumerate(it for it in crowds if it <= 10_000):
            world = World(kind, crowd, (1, 3)[place % 2], rng)
            inbox = Inbox(world.broker, replace(PRESETS["conjoin"], max_attempts=1), {_CHANNEL: Channel(_CHANNEL)})
            slips = [f"key: {slip}" for slip in SLIPS[kind]]
            for number, slip in enumerate([*slips, *EARLY, *[NOTHING] * 5] * each):
                yield _planted(world, inbox, slip, number)
            world.broker.close()


def _planted(world: World, inbox: Inbox, slip: str, number: int) -> Judged:
    key = next(world.keys)
    name, sent, instance, expected = PAID, key, 0, ""
    if slip.startswith("key: "):
        instance, expected = world.waits(key), "other_key"
        sent = slipped(world.kind, slip.removeprefix("key: "), key, world.rng)
    elif slip in EARLY:
        instance, expected = world.start("order", key), "too_early"
        name = PAID if slip == EARLY[0] else CANCELLED
    header = (("X-CORRELATE-ID", f"m-{number}"),)
    inbox.receive(_CHANNEL, [Arrival(0, "planted", number, world.broker.now, b"{}", header, hint=Hint(name, sent))])
    world.clock.advance_ms(60_000)
    inbox.run()
    [row] = world.broker.store.rows(t.INBOX, {"message_id": f"m-{number}"}, None, 1)
    began = time.perf_counter()
    shown = inbox.show(row.key)
    took_ms = (time.perf_counter() - began) * 1_000
    assert shown is not None
    assert shown.item.state == "parked", shown
    first = shown.near_misses[0] if shown.near_misses else {}
    right = (first.get("kind", ""), first.get("instance", 0)) == (expected, instance)
    return Judged("inbox", world.kind, slip, world.crowd, right, "" if right else shown.sentence, took_ms)
