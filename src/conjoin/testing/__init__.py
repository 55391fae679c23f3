"""Tests of your own models, in process, with a clock that you move.

    from conjoin.testing import LocalEngine, assert_that

    engine = LocalEngine()
    engine.deploy("order.bpmn")
    order = engine.start("order", {"orderId": "o-1"})
    paid = engine.publish("paid", "o-1", {"amount": 5})
    assert_that(paid).was_correlated_to(order)
    assert_that(order).is_waiting_at("ship")

A failing assertion says what became of the message or instance, and why. With pytest, name the plugin
`conjoin.testing.pytest_plugin` and ask for the fixture `conjoin_engine`.
"""

from conjoin.testing.assertions import assert_that
from conjoin.testing.clock import FakeClock
from conjoin.testing.local_engine import LocalEngine, Refused
from conjoin.testing.records import InstanceHandle, JobHandle, MessageHandle

__all__ = ["FakeClock", "InstanceHandle", "JobHandle", "LocalEngine", "MessageHandle", "Refused", "assert_that"]
