"""A circle of signals through several shards ends: what is left of its allowance goes along with the mail."""

import pytest

from conjoin.errors import EndlessRequest
from conjoin.kernel.process import commands as c
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run import limits
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.runtime.run.limits import MOST, SIGNAL_COST, left_of, order_text, shares, written_mail
from conjoin.store import tables as t
from tests.bpmn.snippets import END, model

SIGNAL = c.BroadcastSignal("s", {}, "", 0, starts=False)
START = c.StartInstance(1, "begin", "signal", {}, 0)
CLOSE = c.CancelInstance(1, 0)


def circle(throws: int) -> bytes:
    """A signal starts a process that throws the signal, so often."""
    signal = '<signalEventDefinition signalRef="s"/>'
    body = f'<startEvent id="begin">{signal}</startEvent>\n'
    body += "".join(f'<intermediateThrowEvent id="t{n}">{signal}</intermediateThrowEvent>\n' for n in range(throws))
    flows = "begin>t0 " + " ".join(f"t{n}>t{n + 1}" for n in range(throws - 1)) + f" t{throws - 1}>end"
    return model(body + END, flows, '<signal id="s" name="again"/>')


@pytest.mark.parametrize("throws", [1, 2])
def test_a_signal_that_starts_who_throws_it_comes_to_an_end(throws: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST", 100 * SIGNAL_COST)
    broker = temporary_broker(3)
    broker.deploy([("circle.bpmn", circle(throws))])
    with shard_threads(broker):
        broker.broadcast_signal("again", {})
        assert broker.create_instance("order", {}) is not None
    aside = list(broker.store.rows(t.SET_ASIDE, {}, None, 1_000))
    assert aside
    assert all("no end in sight" in row.reason for row in aside)
    assert len(list(broker.store.rows(t.INSTANCE, {}, None, 10_000))) < 1_000
    assert all(it.difference is None for it in verify_store(broker.store))
    broker.close()


def test_signals_and_starts_share_what_is_left() -> None:
    assert shares(MOST, [], 1) == []
    assert shares(1_050, [START, START, SIGNAL, SIGNAL], 3) == [500, 500, 1_000, 1_000]
    assert shares(10, [CLOSE], 2) == [9]
    with pytest.raises(EndlessRequest):
        shares(0, [CLOSE], 2)
    with pytest.raises(EndlessRequest):
        shares(SIGNAL_COST - 1, [SIGNAL], 2)


def test_mail_says_what_is_left_and_that_of_before_says_nothing() -> None:
    first = written_mail(START, MOST - 1)
    later = written_mail(START, 1_234)
    assert first.startswith('["StartInstance"')
    assert order_text(later) == order_text(first) == first
    assert (left_of(first), left_of(later)) == (MOST - 1, 1_234)
