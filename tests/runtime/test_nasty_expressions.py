"""Whatever a client's variable makes of an expression: the instance goes on or has an incident, and no step raises."""

from contextlib import closing

import pytest

from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json
from conjoin.runtime.opening import temporary_broker
from conjoin.testing.clock import FakeClock
from tests.gateway.robust.nasty_models import CONSUMERS, nasty_model
from tests.gateway.robust.nasty_values import LITERALS, is_json

HOUR_MS = 3_600_000


def values() -> list[object]:
    """Those of the table that get past the door."""
    read: list[object] = []
    for text in LITERALS:
        try:
            read.append(read_client_json(text))
        except NOT_JSON:
            continue
    return read


def test_the_table_has_good_and_bad_json() -> None:
    readable = [text for text in LITERALS if is_json(text)]
    assert len(values()) > 100
    assert len(LITERALS) - len(readable) > 5


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_every_value_in_every_expression(consumer: str) -> None:
    """At once and behind a timer, on a store, so that whatever is decided is also written."""
    clock = FakeClock()
    with closing(temporary_broker(2, clock)) as broker:
        models = [nasty_model(consumer, hold) for hold in ("at_once", "timer", "mail")]
        deployed = broker.deploy([(f"{name}.bpmn", content) for name, content in models])
        assert not isinstance(deployed, Refusal), deployed
        for number, value in enumerate(values()):
            for name, _ in models[:2]:
                broker.create_instance(name, {"n": value})
            broker.create_instance(models[2][0], {})
            for job in broker.activate_jobs("give-key", 5):  # type: ignore[union-attr]
                broker.complete_job(job.key, {"key": f"k-{number}"})
            broker.publish(NewMessage("give-n", f"k-{number}", {"n": value}, HOUR_MS))
            clock.advance_ms(1_000)
            broker.tick()
        assert broker.create_instance(models[0][0], {"n": "x"})
