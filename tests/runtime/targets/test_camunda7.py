"""Camunda 7: the literal bodies of its REST API, hints it cannot serve, and what its answers mean."""

import json
from typing import Any

import pytest

from conjoin.kernel.inbox.message import DECODE_ERROR, MAPPING_ERROR, TARGET_ERROR, InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Unanswered
from conjoin.runtime.targets.calls import TargetAnswer, TargetRequest
from conjoin.runtime.targets.camunda7 import Camunda7
from tests.runtime.targets.messages import NOW, body_of, message

PLAIN = Camunda7()


def request(asked: InboxMessage, dialect: Camunda7 = PLAIN) -> TargetRequest:
    made = dialect.request_of(asked, NOW)
    assert isinstance(made, TargetRequest), made
    return made


def mapping_error(**hint: Any) -> str:
    failed = PLAIN.request_of(message(**hint), NOW)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable) == (MAPPING_ERROR, False)
    return failed.text


def test_a_message_is_correlated_by_business_key_and_variables() -> None:
    asked = message(business_key="order-7", correlation_variables={"customer": "c-1"}, variables={"amount": 12})
    made = request(asked)
    assert (made.method, made.path) == ("POST", "/message")
    assert json.loads(made.body) == {
        "messageName": "paid",
        "businessKey": "order-7",
        "correlationKeys": {"customer": {"value": "c-1", "type": "String"}},
        "processVariables": {"amount": {"value": 12, "type": "Integer"}},
        "all": False,
        "resultEnabled": True,
    }


def test_local_keys_are_looked_for_in_the_execution() -> None:
    asked = message(correlation_variables={"item": 3, "order": "o-1"})
    assert body_of(request(asked, Camunda7(local_keys=frozenset({"item"})))) == {
        "messageName": "paid",
        "localCorrelationKeys": {"item": {"value": 3, "type": "Integer"}},
        "correlationKeys": {"order": {"value": "o-1", "type": "String"}},
        "processVariables": {},
        "all": False,
        "resultEnabled": True,
    }


def test_an_instance_is_named_without_its_tenant() -> None:
    asked = message(process_instance_id="i-1", process_definition_id="order:3:77")._replace(tenant_id="acme")
    assert body_of(request(asked)) == {
        "messageName": "paid",
        "processInstanceId": "i-1",
        "processVariables": {},
        "all": False,
        "resultEnabled": True,
    }


def test_a_start_names_no_receiver() -> None:
    asked = message(is_start=True, business_key="order-7", correlation_variables={"a": 1}, process_instance_id="i-1")
    assert body_of(request(asked)) == {
        "messageName": "paid",
        "businessKey": "order-7",
        "processVariables": {},
        "all": False,
        "resultEnabled": True,
    }


@pytest.mark.parametrize(
    ("of_message", "of_hint", "told"),
    [
        ("<default>", "", {}),
        ("acme", "", {"tenantId": "acme"}),
        ("acme", "acme-7", {"tenantId": "acme-7"}),
        ("acme", "<default>", {"withoutTenantId": True}),
    ],
)
@pytest.mark.parametrize("is_start", [True, False])
def test_the_tenant_is_that_of_the_hint_or_else_of_the_message(
    of_message: str, of_hint: str, told: dict[str, Any], is_start: bool
) -> None:
    asked = message(business_key="b", is_start=is_start, tenant_id=of_hint)._replace(tenant_id=of_message)
    body = body_of(request(asked))
    assert {name: body[name] for name in ("tenantId", "withoutTenantId") if name in body} == told


def test_a_name_that_is_a_signal_is_thrown_to_all_of_its_tenant() -> None:
    asked = message(name="alarm", variables={"level": 2}, business_key="ignored")._replace(tenant_id="acme")
    made = request(asked, Camunda7(signals=frozenset({"alarm"})))
    assert made.path == "/signal"
    assert json.loads(made.body) == {
        "name": "alarm",
        "tenantId": "acme",
        "variables": {"level": {"value": 2, "type": "Integer"}},
    }


def test_a_signal_for_one_execution_names_no_tenant() -> None:
    asked = message(name="alarm", execution_id="e-1")._replace(tenant_id="acme")
    made = request(asked, Camunda7(signals=frozenset({"alarm"})))
    assert json.loads(made.body) == {"name": "alarm", "executionId": "e-1", "variables": {}}


def test_a_message_for_one_execution_triggers_its_subscription() -> None:
    made = request(message(name="paid / late?", execution_id="e/1", variables={"a": True}))
    assert made.path == "/execution/e%2F1/messageSubscriptions/paid%20%2F%20late%3F/trigger"
    assert json.loads(made.body) == {"variables": {"a": {"value": True, "type": "Boolean"}}}


def test_values_have_the_types_of_camunda() -> None:
    payload = (
        b'{"text": "a", "yes": true, "small": -2147483648, "large": 2147483648, "beyond": 9223372036854775808,'
        b' "fraction": 1.50, "none": null, "list": [1, 1.5], "object": {"a": null}}'
    )
    assert body_of(request(message(payload, business_key="b")))["processVariables"] == {
        "text": {"value": "a", "type": "String"},
        "yes": {"value": True, "type": "Boolean"},
        "small": {"value": -2147483648, "type": "Integer"},
        "large": {"value": 2147483648, "type": "Long"},
        "beyond": {"value": "9223372036854775808", "type": "Json"},
        "fraction": {"value": 1.5, "type": "Double"},
        "none": {"value": None, "type": "Null"},
        "list": {"value": "[1,1.5]", "type": "Json"},
        "object": {"value": '{"a":null}', "type": "Json"},
    }


def test_a_correlation_variable_may_bring_its_type() -> None:
    asked = message(correlation_variables={"order": {"value": 7, "type": "Long"}})
    assert body_of(request(asked))["correlationKeys"] == {"order": {"value": 7, "type": "Long"}}


@pytest.mark.parametrize("value", [[1], {"a": 1}, {"value": 1, "type": None}, 2**64])
def test_a_correlation_variable_that_cannot_be_compared_is_a_mapping_error(value: object) -> None:
    assert "'order'" in mapping_error(correlation_variables={"order": value})


def test_a_hint_without_a_name_is_a_mapping_error() -> None:
    assert mapping_error(name=" ", business_key="b") == "the hint has no message name"


def test_a_correlation_key_alone_is_a_mapping_error_that_says_what_is_asked_for() -> None:
    text = mapping_error(correlation_key="order-7")
    assert "'order-7'" in text
    assert "business key" in text


@pytest.mark.parametrize("hint", [{"is_start": True, "process_instance_id": "i-1"}, {"business_key": "b"}])
def test_a_process_definition_is_a_mapping_error_as_rest_cannot_name_one(hint: dict[str, Any]) -> None:
    assert "'order:3:77'" in mapping_error(process_definition_id="order:3:77", **hint)


def test_a_hint_that_cannot_be_written_is_a_mapping_error() -> None:
    assert mapping_error(business_key="\ud800").startswith("the hint cannot be written as JSON")
    assert mapping_error(correlation_variables={"a": {"value": object(), "type": "String"}}).startswith("the hint")


def test_a_payload_that_cannot_be_read_is_a_decode_error() -> None:
    failed = PLAIN.request_of(message(b"{", business_key="b"), NOW)
    assert isinstance(failed, Failed)
    assert failed.kind == DECODE_ERROR


def test_an_instance_that_waited_is_named() -> None:
    body = b"""[{"resultType": "Execution", "processInstance": null,
        "execution": {"id": "e-1", "processInstanceId": "i-1", "ended": false, "tenantId": null}}]"""
    assert PLAIN.outcome_of(TargetAnswer(200, body)) == Delivered("correlated", "waiting_instance", "i-1")


def test_an_instance_that_was_started_is_named() -> None:
    body = b"""[{"resultType": "ProcessDefinition", "execution": null,
        "processInstance": {"id": "i-2", "definitionId": "order:1:7", "businessKey": "order-7", "ended": false}}]"""
    assert PLAIN.outcome_of(TargetAnswer(200, body)) == Delivered("correlated", "started_instance", "i-2")


def test_a_signal_has_no_content_in_its_answer() -> None:
    assert PLAIN.outcome_of(TargetAnswer(204)) == Delivered("correlated", "handed_over")


@pytest.mark.parametrize("why", ["No process definition or execution matches the parameters", "3 executions match"])
def test_nobody_or_several_are_retried(why: str) -> None:
    cause = f"org.camunda.bpm.engine.MismatchingMessageCorrelationException: Cannot correlate message 'paid': {why}"
    body = json.dumps({"type": "RestException", "message": cause, "code": 0}).encode()
    failed = PLAIN.outcome_of(TargetAnswer(400, body))
    assert failed == Failed(
        TARGET_ERROR, f"Camunda 7 found nobody, or several, to take the message\nCaused by: RestException: {cause}"
    )
    assert failed.retryable


def test_a_message_that_camunda_cannot_use_is_held() -> None:
    body = b'{"type": "InvalidRequestException", "message": "Cannot deliver message: no such type"}'
    assert PLAIN.outcome_of(TargetAnswer(400, body)) == Failed(
        TARGET_ERROR,
        "Camunda 7 answered 400: it cannot use this message as it is\n"
        "Caused by: InvalidRequestException: Cannot deliver message: no such type",
        retryable=False,
    )


@pytest.mark.parametrize("body", [b"", b"[]", b"[1]", b"{}", b'[{"resultType": "Execution"}]', b"<html>Log in"])
def test_a_success_in_words_of_others_is_not_called_delivered(body: bytes) -> None:
    assert isinstance(PLAIN.outcome_of(TargetAnswer(200, body)), Unanswered)
