"""The examples of the documents run as they are printed, in the profiles that they belong to."""

from decimal import Decimal
from pathlib import Path

import pytest

from conjoin.testing import LocalEngine, assert_that
from conjoin.testing.local_engine import Refused

DOCUMENTS = Path(__file__).parents[2] / "examples/documents"
CAMUNDA_8 = DOCUMENTS / "camunda8_style.bpmn"
CAMUNDA_7 = DOCUMENTS / "camunda7_style.bpmn"
AMOUNT = {"amount": Decimal("150.00")}


@pytest.mark.parametrize("profile", ["fleans", "correlate"])
def test_camunda_8_style_waits_for_its_order(profile: str) -> None:
    engine = LocalEngine(profile=profile)
    engine.deploy(CAMUNDA_8)
    order = engine.start("orderProcess", {"orderId": "order-123"})
    assert_that(order).is_waiting_for("paymentReceived", "order-123")
    with pytest.raises(Refused, match="NOT_FOUND"):
        engine.correlate("paymentReceived", "order-124")
    assert engine.correlate("paymentReceived", "order-123", AMOUNT).key == order.key
    assert_that(order).is_completed().has_variable("amount", Decimal("150.00"))


def test_camunda_7_style_has_no_correlation_in_fleans_so_its_name_alone_counts() -> None:
    engine = LocalEngine(profile="fleans")
    engine.deploy(CAMUNDA_7)
    order = engine.start("orderProcess")
    assert_that(order).is_waiting_for("paymentReceived", "")
    second = engine.start("orderProcess")
    assert_that(second).has_incident_at("waitForPayment", "DUPLICATE_SUBSCRIPTION")
    engine.correlate("paymentReceived", "", AMOUNT)
    assert_that(order).is_completed().has_variable("amount", Decimal("150.00"))


def test_camunda_7_style_is_found_by_its_instance_in_correlate() -> None:
    engine = LocalEngine(profile="correlate")
    engine.deploy(CAMUNDA_7)
    order = engine.start("orderProcess")
    engine.correlate("paymentReceived", str(order.key), AMOUNT)
    assert_that(order).is_completed()


@pytest.mark.parametrize("file", [CAMUNDA_8, CAMUNDA_7], ids=lambda file: file.stem)
@pytest.mark.parametrize("profile", ["zeebe", "zeebe-0.2x"])
def test_zeebe_refuses_what_is_left_out(file: Path, profile: str) -> None:
    with pytest.raises(Refused, match="INVALID_ARGUMENT"):
        LocalEngine(profile=profile).deploy(file)
