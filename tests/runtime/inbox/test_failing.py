"""An attempt that fails by a mistake of ours is a failed attempt of that message, and the others have their turn."""

from typing import Any

import pytest

from conjoin.kernel.inbox import InboxMessage
from conjoin.runtime.inbox.on_shard.attempts import Offers
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.run.fold import Fold
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock
from tests.runtime.inbox.bench import Bench, preset


def in_the_offer(monkeypatch: pytest.MonkeyPatch, key: int) -> None:
    real = Offers.offer

    def offer(its: Offers, message: InboxMessage) -> Any:
        if message.key == key:
            raise OverflowError("too large")
        return real(its, message)

    monkeypatch.setattr(Offers, "offer", offer)


def in_the_commit(monkeypatch: pytest.MonkeyPatch, key: int) -> None:
    """Nobody knows whose fault it is, unless it stands alone."""
    real = Fold.changes

    def changes(its: Fold, batch: Any) -> Any:
        if its._inbox is not None and key in its._inbox.tried:
            raise OverflowError("too large")
        return real(its, batch)

    monkeypatch.setattr(Fold, "changes", changes)


@pytest.mark.parametrize("poison", [in_the_offer, in_the_commit])
@pytest.mark.parametrize("shards", [1, 2])
def test_a_message_that_cannot_be_tried_has_failed_and_the_others_are_taken(
    monkeypatch: pytest.MonkeyPatch, poison: Any, shards: int
) -> None:
    clock = FakeClock()
    bench = Bench(temporary_broker(shards, clock), clock, preset(mode="all"))
    for number in range(6):
        bench.wait(f"o-{number}")
        bench.send(f"o-{number}", f"m-{number}", "orders")
    [bad] = bench.broker.store.rows(t.INBOX, {"message_id": "m-3"}, None, 9)
    poison(monkeypatch, bad.key)
    for _ in range(3):
        bench.run()
        clock.advance_ms(60_000)
    states = {row.message_id: (row.state, row.error_kind) for row in bench.broker.store.rows(t.INBOX, {}, None, 9)}
    assert {state for name, (state, _) in states.items() if name != "m-3"} == {"done"}
    assert states["m-3"][1] == "target_error"
    assert "OverflowError: too large" in bench.row("m-3").error_text
    bench.broker.close()
