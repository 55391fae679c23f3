"""When a key was given out: found in the log, whichever commit it was, and unknown where the log begins later."""

from typing import Any

import pytest

from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.reading.key_times import KeyTimes
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock


@pytest.mark.parametrize("shards", [1, 3])
def test_time_of_every_message_is_found_by_its_key(shards: int) -> None:
    clock = FakeClock()
    broker = temporary_broker(shards, clock)
    for number in range(40):
        clock.advance_ms(number * 7)
        broker.publish(NewMessage("paid", f"order-{number}", {}, 10**6))
    rows: list[Any] = list(broker.store.rows(t.MESSAGE, {}, None, 100))
    times = KeyTimes()
    expected = {row.key: row.published_at for row in rows}
    assert times.of(broker, expected, 60.0) == expected
    assert times.of(broker, expected, 0.0) == expected, "they are known by now"
    assert KeyTimes().of(broker, expected, -1.0) == {}
    broker.close()


def test_keys_of_nowhere_have_no_time() -> None:
    broker = temporary_broker(1)
    assert KeyTimes().of(broker, [7, 2**62, 1 << 51], 60.0) == {}
    broker.close()
