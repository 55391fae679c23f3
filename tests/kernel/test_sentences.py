"""Every verdict and every near miss can be said in one English sentence."""

from typing import Any

import pytest

from conjoin.kernel.verdicts.near_miss_sentences import near_miss
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.kernel.verdicts.verdicts import REASONS
from conjoin.kernel.verdicts.words import duration

EVERY = [(verdict, reason) for verdict, reasons in REASONS.items() for reason in reasons]
WHO = {"process": "order", "instance": "i-7", "element": "wait"}


@pytest.mark.parametrize(("verdict", "reason"), EVERY, ids=[f"{v}-{r}" for v, r in EVERY])
def test_every_reason_has_a_sentence_of_its_own_even_without_parameters(verdict: str, reason: str) -> None:
    said = sentence(verdict, reason, {}, "Paid", "o-3")
    assert said.startswith(f"{verdict.capitalize()}: ")
    assert said.endswith(".")
    assert "'Paid' with key 'o-3'" in said
    assert said != sentence(verdict, "no such reason", {}, "Paid", "o-3")
    assert "None" not in said
    assert "{" not in said


SENTENCES: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "correlated",
        "waiting_instance",
        {**WHO, "subscription": "s-1"},
        "Correlated: process order (instance i-7 at wait) was already waiting for 'Paid' with key 'o-3'.",
    ),
    (
        "correlated",
        "waiting_instance",
        {"processes": ["order", "loyalty"], "earlier_run": True},
        "Correlated: 'Paid' with key 'o-3' was taken in an earlier run by process order, loyalty.",
    ),
    (
        "correlated",
        "waiting_instance_later",
        {**WHO, "waited_ms": 90_000},
        "Correlated: 'Paid' with key 'o-3' came early and was kept; process order (instance i-7 at wait) took it "
        "1.5 min after it was published.",
    ),
    (
        "correlated",
        "started_instance",
        {"process": "order", "instance": "i-8", "element": None},
        "Correlated: 'Paid' with key 'o-3' started process order (instance i-8).",
    ),
    (
        "correlated",
        "started_after_lock",
        {"process": "order", "instance": "i-8", "element": "placed", "freed_by": "i-7"},
        "Correlated: 'Paid' with key 'o-3' waited behind a running instance of the same key and started process order "
        "(instance i-8 at placed) when instance i-7 had ended.",
    ),
    (
        "correlated",
        "given_back_and_taken",
        {**WHO, "waited_ms": 0, "first_instance": "i-6", "why": "it had moved on"},
        "Correlated: instance i-6 gave it back (it had moved on), then process order (instance i-7 at wait) took "
        "'Paid' with key 'o-3'.",
    ),
    (
        "buffered",
        "nobody_waits",
        {"deadline_at": "2026-01-31T08:00:00Z", "near_misses": []},
        "Buffered: nobody waits for 'Paid' with key 'o-3' yet; it is kept until 2026-01-31T08:00:00Z.",
    ),
    (
        "buffered",
        "nobody_waits",
        {"deadline_at": "never", "near_misses": []},
        "Buffered: nobody waits for 'Paid' with key 'o-3' yet; it is kept for ever.",
    ),
    (
        "buffered",
        "locked",
        {"near_misses": [{"kind": "lock_held", "process": "order", "instance": "i-7"}]},
        "Buffered: 'Paid' with key 'o-3' would start a process of which an instance with this key is still running; "
        "instance i-7 of process order holds the key - it must end first.",
    ),
    (
        "expired",
        "nobody_waited",
        {
            "deadline_at": "2026-01-31T08:00:00Z",
            "near_misses": [],
            "next_subscription": {"process": "order", "instance": "i-7", "late_ms": 250},
        },
        "Expired: nobody waited for 'Paid' with key 'o-3' until its deadline 2026-01-31T08:00:00Z; process order "
        "(instance i-7) began to wait 250 ms after the deadline - a longer time to live mends it.",
    ),
    (
        "discarded",
        "ttl_zero",
        {"near_misses": [{"kind": "other_name", "name": "paid", "differs": "case or blanks only", "process": "order"}]},
        "Discarded: nobody waited for 'Paid' with key 'o-3' and its time to live is 0; process order waits for 'paid' "
        "on the same key - the name differs in case or blanks only.",
    ),
    (
        "refused",
        "duplicate_id",
        {"first_published_at": "2026-01-31T08:00:00Z", "until_at": "2026-01-31T09:00:00Z", "acknowledged": False},
        "Refused: 'Paid' with key 'o-3' has the id of a message that is still remembered, first published at "
        "2026-01-31T08:00:00Z; the id is free again at 2026-01-31T09:00:00Z.",
    ),
    (
        "refused",
        "duplicate_id",
        {"first_message": "m-1", "until_at": "never"},
        "Refused: 'Paid' with key 'o-3' has the id of message m-1, which is still remembered; the id is never free "
        "again.",
    ),
    (
        "refused",
        "invalid",
        {"why": "a message needs a name"},
        "Refused: 'Paid' with key 'o-3' cannot be used: a message needs a name.",
    ),
    (
        "buffered",
        "given_back",
        {"instance": "i-7", "why": "it had moved on"},
        "Buffered: instance i-7 gave 'Paid' with key 'o-3' back (it had moved on); it is kept, for whoever waits next.",
    ),
    (
        "buffered",
        "taken_by_process",
        {"process": "order", "instance": "i-7", "taken_at": "2026-01-31T08:00:00Z"},
        "Buffered: process order already has 'Paid' with key 'o-3' through instance i-7 since 2026-01-31T08:00:00Z, "
        "and a process gets a message once.",
    ),
    (
        "discarded",
        "policy",
        {"near_misses": [{"kind": "other_name", "name": "Refunded", "differs": "name", "process": "order"}]},
        "Discarded: nobody waited for 'Paid' with key 'o-3' and the policy on_no_match says discard; process order "
        "waits for 'Refunded' on the same key - is one of the two names wrong?",
    ),
    (
        "refused",
        "ambiguous",
        {"candidates": ["i-7", "i-8"], "count": 2},
        "Refused: 2 could take 'Paid' with key 'o-3' and exactly one may: i-7, i-8.",
    ),
    (
        "refused",
        "invalid",
        {"field": "ttl_ms", "value": "soon", "why": "not a whole number"},
        "Refused: ttl_ms of 'Paid' with key 'o-3' is 'soon': not a whole number.",
    ),
    (
        "short",
        "fewer_than_expected",
        {"expected": 3, "got": 1},
        "Short: 'Paid' with key 'o-3' was expected by 3 receivers and taken by 1.",
    ),
    (
        "waiting",
        "in_backoff",
        {"attempt": 2, "next_retry_at": "2026-01-31T08:00:00Z"},
        "Waiting: delivering 'Paid' with key 'o-3' failed and waits for its next attempt (attempt 2); tried again at "
        "2026-01-31T08:00:00Z.",
    ),
    (
        "parked",
        "attempts_exhausted",
        {"attempts": 5, "last_error": "timed out"},
        "Parked: delivering 'Paid' with key 'o-3' was given up after 5 attempts: timed out.",
    ),
]


@pytest.mark.parametrize(("verdict", "reason", "told", "expected"), SENTENCES)
def test_sentence_says_what_the_parameters_tell(verdict: str, reason: str, told: dict[str, Any], expected: str) -> None:
    assert sentence(verdict, reason, told, "Paid", "o-3") == expected


NEAR_MISSES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "lock_held", **WHO}, "instance i-7 of process order holds the key - it must end first"),
    ({"kind": "business_id_held", **WHO}, "instance i-7 of process order holds its business id - it must end first"),
    (
        {"kind": "busy", **WHO},
        "process order (instance i-7 at wait) waits for it but is just taking another message - it is free in a moment",
    ),
    (
        {"kind": "other_business_id", "business_id": "b-1", **WHO},
        "process order (instance i-7 at wait) waits for business id 'b-1' - send that one, or none to reach anybody",
    ),
    (
        {"kind": "constraint", **WHO},
        "process order (instance i-7 at wait) waits for it but the policy's constraint says no",
    ),
    (
        {"kind": "closed_before", "closed_ms_before": 5_000, **WHO},
        "process order (instance i-7 at wait) stopped waiting 5 s before it was published - it came too late",
    ),
    (
        {"kind": "other_name", "name": "Refunded", "differs": "name", **WHO},
        "process order (instance i-7 at wait) waits for 'Refunded' on the same key - is one of the two names wrong?",
    ),
    (
        {"kind": "other_tenant", "tenant": "acme", **WHO},
        "process order (instance i-7 at wait) waits for it in tenant 'acme' - publish it there",
    ),
    (
        {"kind": "other_key", "key": "o-33", "differs": "key", **WHO},
        "process order (instance i-7 at wait) waits for it with key 'o-33' - is one of the two keys wrong?",
    ),
    (
        {"kind": "other_key", "key": "O-3", "differs": "case or blanks only", **WHO},
        "process order (instance i-7 at wait) waits for it with key 'O-3' - the key differs in case or blanks only",
    ),
    (
        {"kind": "other_key", "key": "7", "differs": "number", **WHO},
        "process order (instance i-7 at wait) waits for it with key '7' - the same number, written in another way",
    ),
    (
        {"kind": "other_business_id", "business_id": "", **WHO},
        "process order (instance i-7 at wait) waits for it without a business id - send none to reach anybody",
    ),
    (
        {"kind": "expired_before", "late_ms": 1_500, **WHO},
        "it was gone 1.5 s before process order (instance i-7 at wait) began to wait - "
        "publish it with a longer time to live",
    ),
    (
        {"kind": "taken_by_process", "process": "order", "instance": "i-6", "waiting_instance": "i-7"},
        "process order already has it through instance i-6, so instance i-7 waits for another one",
    ),
    ({"kind": "never_awaited"}, "no process that is deployed ever waits for this name - is it spelled right?"),
    (
        {"kind": "never_awaited", "similar": "paid", "computed": ["audit", "stock"], "tenant": "acme"},
        "no process that is deployed in tenant 'acme' ever waits for this name, unless process audit, stock computes "
        "it - did you mean 'paid'?",
    ),
    (
        {"kind": "incident", "incident": "x-1", "text": "orderId is null", **WHO},
        "process order (instance i-7 at wait) should wait for it but does not because of incident x-1 "
        "(orderId is null) - mend the cause and resolve it",
    ),
]


@pytest.mark.parametrize(("miss", "expected"), NEAR_MISSES, ids=[miss["kind"] for miss, _ in NEAR_MISSES])
def test_near_miss_says_where_it_is_and_what_would_mend_it(miss: dict[str, Any], expected: str) -> None:
    assert near_miss(miss) == expected


def test_message_is_named_as_far_as_it_is_known() -> None:
    assert "nobody waited for this message and" in sentence("discarded", "ttl_zero", {})
    assert "nobody waited for 'Paid' without a key and" in sentence("discarded", "ttl_zero", {}, "Paid")


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (1_550, "1.5 s"), (3_600_000, "1 h"), (129_600_000, "1.5 d")],
)
def test_durations_read_like_a_person_says_them(ms: int, text: str) -> None:
    assert duration(ms) == text


def test_error_that_is_a_sentence_ends_with_one_full_stop() -> None:
    said = {"attempts": 3, "last_error": "the receiver said no."}
    assert sentence("parked", "attempts_exhausted", said, "Paid", "o-3").endswith(
        "after 3 attempts: the receiver said no."
    )
    later = {"attempt": 1, "error": "it said no.", "next_retry_at": "2030-01-31T08:00:00Z"}
    assert "it said no; tried again at" in sentence("waiting", "in_backoff", later, "Paid", "o-3")
