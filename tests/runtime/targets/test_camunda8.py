"""Camunda 8: the literal bodies of its REST API, hints it cannot serve, and what its answers mean."""

import json
from typing import Any

import pytest

from conjoin.kernel.inbox.message import DECODE_ERROR, MAPPING_ERROR, TARGET_ERROR
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Unanswered
from conjoin.kernel.instants import after
from conjoin.runtime.targets.calls import TargetAnswer, TargetRequest
from conjoin.runtime.targets.camunda8 import CORRELATE, Camunda8
from tests.runtime.targets.messages import NOW, body_of, message

PLAIN = Camunda8()
NOBODY = (
    "Command 'CORRELATE' rejected with code 'NOT_FOUND': Expected to find subscription for message with name 'paid'"
)
TWICE = "Command 'PUBLISH' rejected with code 'ALREADY_EXISTS': a message with that id was already published"


def problem(title: str, status: int, detail: str) -> bytes:
    told = {"type": "about:blank", "title": title, "status": status, "detail": detail, "instance": "/v2/messages"}
    return json.dumps(told).encode()


def test_a_message_is_published_with_its_id_and_a_time_to_live() -> None:
    made = PLAIN.request_of(message(b'{"amount": 1.10}', correlation_key="order-7"), NOW)
    assert isinstance(made, TargetRequest)
    assert (made.method, made.path) == ("POST", "/v2/messages/publication")
    assert body_of(made) == {
        "name": "paid",
        "correlationKey": "order-7",
        "variables": {"amount": 1.1},
        "tenantId": "<default>",
        "messageId": "m-1",
        "timeToLive": 86_400_000,
    }
    assert b'"amount":1.10' in made.body


def test_a_message_is_correlated_without_id_and_time_to_live() -> None:
    asked = message(correlation_key="order-7", variables={"a": [1, None]}, tenant_id="there")._replace(tenant_id="acme")
    made = Camunda8(CORRELATE).request_of(asked, NOW)
    assert isinstance(made, TargetRequest)
    assert made.path == "/v2/messages/correlation"
    assert body_of(made) == {
        "name": "paid",
        "correlationKey": "order-7",
        "variables": {"a": [1, None]},
        "tenantId": "there",
    }


def test_the_id_of_the_hint_counts_before_that_of_the_message() -> None:
    assert body_of(PLAIN.request_of(message(correlation_key="k", message_id="h-1"), NOW))["messageId"] == "h-1"


def test_camunda_keeps_a_message_no_longer_than_the_inbox_would() -> None:
    asked = message(correlation_key="k")._replace(expires_at=after(NOW, 1_500))
    assert body_of(PLAIN.request_of(asked, NOW))["timeToLive"] == 1_500
    assert body_of(Camunda8(time_to_live_ms=1_000).request_of(asked, NOW))["timeToLive"] == 1_000
    assert body_of(PLAIN.request_of(asked, after(NOW, 2_000)))["timeToLive"] == 0


def test_a_start_may_come_without_a_key() -> None:
    assert body_of(PLAIN.request_of(message(is_start=True), NOW))["correlationKey"] == ""


@pytest.mark.parametrize(
    "hint", [{}, {"business_key": "b", "process_instance_id": "1"}, {"name": "", "correlation_key": "k"}]
)
def test_a_hint_without_name_or_key_is_a_mapping_error_and_is_held(hint: dict[str, Any]) -> None:
    failed = PLAIN.request_of(message(**hint), NOW)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable) == (MAPPING_ERROR, False)


def test_a_payload_that_cannot_be_read_is_a_decode_error() -> None:
    failed = PLAIN.request_of(message(b"{", correlation_key="k"), NOW)
    assert isinstance(failed, Failed)
    assert failed.kind == DECODE_ERROR


def test_a_published_message_is_kept_there() -> None:
    body = b'{"tenantId": "<default>", "messageKey": "2251799813685249"}'
    assert PLAIN.outcome_of(TargetAnswer(200, body)) == Delivered("buffered", "handed_over", "2251799813685249")


def test_a_correlated_message_names_its_instance() -> None:
    body = b'{"tenantId": "<default>", "messageKey": 7, "processInstanceKey": 2251799813685250}'
    assert PLAIN.outcome_of(TargetAnswer(200, body)) == Delivered("correlated", "handed_over", "2251799813685250")


def test_an_id_that_is_there_already_is_delivered() -> None:
    assert PLAIN.outcome_of(TargetAnswer(409, problem("ALREADY_EXISTS", 409, TWICE))) == Delivered(
        "refused", "duplicate_id"
    )


def test_another_conflict_is_retried() -> None:
    failed = PLAIN.outcome_of(TargetAnswer(409, problem("INVALID_STATE", 409, "the instance is suspended")))
    assert failed == Failed(
        TARGET_ERROR, "Camunda 8 answered 409\nCaused by: INVALID_STATE: the instance is suspended", retryable=True
    )


def test_nobody_waiting_is_retried() -> None:
    failed = PLAIN.outcome_of(TargetAnswer(404, problem("NOT_FOUND", 404, NOBODY)))
    assert failed == Failed(
        TARGET_ERROR, f"Camunda 8 found nobody to take the message\nCaused by: NOT_FOUND: {NOBODY}", retryable=True
    )


def test_a_path_that_is_not_there_is_told_from_nobody_waiting() -> None:
    failed = PLAIN.outcome_of(
        TargetAnswer(404, problem("Not Found", 404, "No static resource v2/messages/publication."))
    )
    assert isinstance(failed, Failed)
    assert failed.retryable
    assert "is the url right?" in failed.text


def test_a_message_that_camunda_cannot_use_is_held() -> None:
    failed = PLAIN.outcome_of(TargetAnswer(400, problem("INVALID_ARGUMENT", 400, "No name provided.")))
    assert isinstance(failed, Failed)
    assert not failed.retryable
    assert failed.text.endswith("Caused by: INVALID_ARGUMENT: No name provided.")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'"ok"', b'{"messageKey": null}', b"<html>Log in", b"\xff\xfe"])
def test_a_success_in_words_of_others_is_not_called_delivered(body: bytes) -> None:
    assert isinstance(PLAIN.outcome_of(TargetAnswer(200, body)), Unanswered)
