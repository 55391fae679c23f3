"""What an answer that is no success means, for every target alike."""

import pytest

from conjoin.kernel.inbox.message import TARGET_ERROR
from conjoin.kernel.inbox.outcomes import Failed, Unanswered
from conjoin.runtime.targets.calls import TargetAnswer, failure_of, read_answer


@pytest.mark.parametrize("status", [301, 401, 403, 404, 405, 408, 409, 415, 429, 500, 501, 503, 599])
def test_what_lies_with_the_target_is_retried(status: int) -> None:
    failed = failure_of("Camunda 7", TargetAnswer(status))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable) == (TARGET_ERROR, True)
    assert failed.text.startswith(f"Camunda 7 answered {status}")


@pytest.mark.parametrize("status", [400, 413, 414, 422])
def test_what_lies_with_the_message_is_held(status: int) -> None:
    failed = failure_of("Camunda 8", TargetAnswer(status))
    assert isinstance(failed, Failed)
    assert not failed.retryable


@pytest.mark.parametrize("status", [502, 504])
def test_a_middleman_that_gave_up_leaves_it_open(status: int) -> None:
    unanswered = failure_of("Camunda 8", TargetAnswer(status))
    assert isinstance(unanswered, Unanswered)
    assert "it may have the message" in unanswered.text


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_say_what_to_fix(status: int) -> None:
    assert "fix them and it is retried" in failure_of("Camunda 7", TargetAnswer(status)).text


def test_the_wish_to_wait_is_noted() -> None:
    text = failure_of("Camunda 8", TargetAnswer(503, b"", retry_after="30")).text
    assert text == "Camunda 8 answered 503: it is busy or not ready (Retry-After: 30)"


def test_a_redirect_says_where_to_without_what_may_be_secret() -> None:
    answer = TargetAnswer(302, location="https://me:pw@login.example/start?ticket=t-1#f")
    assert failure_of("Camunda 7", answer).text == (
        "Camunda 7 answered 302: it sends us on to https://login.example/start, and we do not follow; is the url right?"
    )
    assert "sends us on, and" in failure_of("Camunda 7", TargetAnswer(302, location="https://[")).text


def test_a_long_body_is_shown_as_one_line_with_its_beginning() -> None:
    text = failure_of("Camunda 7", TargetAnswer(500, b"<html>\n\n  broken\xff" + b"x" * 10_000)).text
    head, cause = text.split("\n")
    assert head == "Camunda 7 answered 500"
    assert cause.startswith("Caused by: <html> broken\N{REPLACEMENT CHARACTER}xxx")
    assert len(cause) < 2_100


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_says_nothing(body: bytes) -> None:
    assert read_answer(body) is None
