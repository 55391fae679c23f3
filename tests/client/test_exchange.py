"""When a call is tried again, without anybody who carries it."""

from typing import Any

import pytest

from conjoin.client import Publication
from conjoin.client.exchange import (
    Exchange,
    HttpAnswer,
    HttpRequest,
    NoHttpAnswer,
    Patience,
    RetryPause,
    Take,
    never,
    sent,
)
from conjoin.client.messages import publish, publish_many
from conjoin.errors import NoAnswer, ServerBusy

REQUEST = HttpRequest("ask", "POST", "/there")
FULL = HttpAnswer(503, b'{"title": "RESOURCE_EXHAUSTED", "detail": "later"}', "1")
STORE = HttpAnswer(503, b'{"title": "UNAVAILABLE", "detail": "the store"}')
NOT_SENT, UNANSWERED = NoHttpAnswer("refused", was_sent=False), NoHttpAnswer("cut", was_sent=True)
FINE = HttpAnswer(200, b"{}")
PATIENCE = Patience(attempts=3, first_pause_s=0.1, longest_pause_s=2.0)


def told(exchange: Exchange[Any], *answers: HttpAnswer | NoHttpAnswer) -> tuple[Any, list[float]]:
    """The result, and how long it waited in between."""
    pauses, coming, answer = [], iter(answers), None
    try:
        while True:
            step = exchange.send(answer)
            answer = None if isinstance(step, RetryPause) else next(coming)
            pauses += [step.seconds] if isinstance(step, RetryPause) else []
    except StopIteration as over:
        return over.value, pauses


@pytest.mark.parametrize("first", [FULL, NOT_SENT])
def test_what_was_surely_not_done_is_always_tried_again(first: HttpAnswer | NoHttpAnswer) -> None:
    heard, pauses = told(sent(REQUEST, PATIENCE, never), first, FINE)
    assert (heard.answer, heard.maybe_done, len(pauses)) == (FINE, False, 1)


@pytest.mark.parametrize("first", [STORE, UNANSWERED])
def test_what_may_have_been_done_is_tried_again_only_if_that_is_safe(first: HttpAnswer | NoHttpAnswer) -> None:
    heard, _ = told(sent(REQUEST, PATIENCE), first, FINE)
    assert heard.maybe_done
    with pytest.raises((NoAnswer, ServerBusy)):
        told(sent(REQUEST, PATIENCE, never), first)


def test_pauses_grow_and_are_as_long_as_the_server_asks_for() -> None:
    _, pauses = told(sent(REQUEST, PATIENCE), FULL, UNANSWERED, FINE)
    assert pauses[0] == 1.0
    assert 0.1 <= pauses[1] <= 0.2


def test_patience_ends_with_what_was_said_last() -> None:
    with pytest.raises(ServerBusy, match="ask: later") as error:
        told(sent(REQUEST, PATIENCE), UNANSWERED, FULL, FULL)
    assert (error.value.reason, error.value.status, error.value.retryable) == ("RESOURCE_EXHAUSTED", 503, True)


def test_message_that_is_not_kept_is_looked_for_when_the_store_did_not_answer() -> None:
    found = HttpAnswer(200, b'{"items": [{"key": "7", "verdict": "refused"}, {"key": "8", "verdict": "discarded"}]}')
    shown = HttpAnswer(
        200,
        b'{"message": {"key": "8"}, "verdict": "discarded", "reason": "r", "sentence": "s", "storage": "none",'
        b' "attempts": []}',
    )
    fate, _ = told(publish(PATIENCE, Publication("paid")), STORE, found, shown)
    assert (fate.key, fate.verdict) == (8, "discarded")
    with pytest.raises(ServerBusy):
        told(publish(PATIENCE, Publication("paid", id="mine")), STORE)


def test_lines_that_were_answered_are_handed_out_before_the_others_are_missed() -> None:
    exchange = publish_many(PATIENCE)
    assert isinstance(exchange.send(None), Take)
    assert isinstance(exchange.send([Publication("paid", "a"), Publication("paid", "b")]), HttpRequest)
    handed = exchange.send(HttpAnswer(200, b'{"line": 1, "key": "7", "verdict": "buffered"}\n{"error": "disk full"}\n'))
    assert [(line.message.key, line.key) for line in handed.items] == [("a", 7)]  # type: ignore[union-attr]
    with pytest.raises(NoAnswer, match="1 have no answer: disk full"):
        exchange.send(None)


def test_answer_that_is_no_problem_is_not_asked_for_twice() -> None:
    refusal = HttpAnswer(409, b"")
    assert told(sent(REQUEST, PATIENCE), refusal)[0].answer == refusal
