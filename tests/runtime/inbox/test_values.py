"""Messages as rows and back, hints as people write them, counts, and requests that are sent to other processes."""

import pickle
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from conjoin.errors import InputError
from conjoin.kernel.inbox import InboxMessage, InboxSettings
from conjoin.kernel.inbox.message import Ending, Fault, Hint, MessageType
from conjoin.kernel.inbox.operations import Correct
from conjoin.kernel.inbox.outcomes import Delivered, Failed
from conjoin.runtime.inbox import requests as r
from conjoin.runtime.inbox.mapping import read_hint
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.placement import (
    MOVING,
    OWN,
    REMOTE,
    SPANNING,
    moving_group,
    reach_of,
    stored_group,
)
from conjoin.runtime.inbox.remote_run import deliver
from conjoin.runtime.inbox.rows import Filed, content_of, read_row, row_of, text_to_keep, with_content
from tests.kernel.inbox.simulator import make

FULL = InboxMessage(
    *(7, "orders", "m-1", b"\x00\xffpayload", 100, 200, 3, "acme", MessageType("orders", "Paid", "2"), "avro"),
    {"X-CORRELATE-ID": "m-1", "traceparent": "00"},
    Hint("paid", "o-1", {"n": Decimal("1.50")}, "id", {"a": [1, None]}, "b", "p", "i", "x", "t", True, "g"),
    *("elsewhere", "group", 5, 150, 900, "paused", 4, 700, 600, Fault("target_error", "no"), "held"),
)


@pytest.mark.parametrize(
    "message",
    [
        FULL,
        FULL._replace(state="done", ending=Ending("correlated", "waiting_instance", 800, "i-7")),
        make(1),
        make(1, sort_value="text"),
        make(1, sort_value=Decimal("2.5")),
        make(1, state="parked", parked_for="attempts_exhausted", attempts=3, error=Fault("decode_error", "x" * 99)),
    ],
)
def test_a_message_is_the_same_after_it_was_stored(message: InboxMessage) -> None:
    filed = Filed(message, "place", 11, 4)
    again = read_row(row_of(filed, InboxSettings()))
    assert again[1:] == filed[1:]
    assert with_content(again.message, content_of(message)) == message


@pytest.mark.parametrize(
    ("text", "kept"), [("plain", "plain"), ("Zürich", "Zürich"), ("a\0b", "a\\0b"), ("\ud800", "\\ud800")]
)
def test_a_text_is_kept_as_far_as_databases_can(text: str, kept: str) -> None:
    assert text_to_keep(text) == kept


def test_counts_add_up_and_know_the_classes_of_errors() -> None:
    counts = Counts(received=2) + Counts(received=3, parked=1)
    for kind in ("decode_error", "mapping_error", "target_error"):
        counts.note(make(1), Failed(kind, "no"), make(1, state="parked"))
    counts.note(make(1), Delivered(), make(1, state="done"))
    counts.note_try(make(1, tried_at=5))
    counts.note_try(make(1))
    assert counts == Counts(
        received=5, parked=4, decode_error=1, mapping_error=1, target_error=1, correlated=1, retried=1
    )


@pytest.mark.parametrize(
    "request_",
    [
        r.InboxArrivals([Filed(FULL, "place")]),
        r.InboxRules("all own passes", "g"),
        r.InboxRun(InboxSettings(), 5, groups=["g"]),
        r.InboxTurn(1, InboxSettings(), 5),
        r.InboxRest("g", 1, None),
        r.InboxIntend(InboxSettings(), 5, ("elsewhere",)),
        r.InboxBook([(1, Delivered(), "asked")], InboxSettings(), 5),
        r.InboxOperate([1], Correct(payload=b"{}"), "eve", InboxSettings()),
        r.InboxCleanup(InboxSettings()),
        r.InboxMoveIn(row_of(Filed(FULL, "p"), InboxSettings()), content_of(FULL), []),
        r.InboxMoveOut(1),
    ],
    ids=lambda request: type(request).__name__,
)
def test_a_request_can_be_sent_to_another_process(request_: r.InboxRequest) -> None:
    assert pickle.loads(pickle.dumps(request_)) == request_


@pytest.mark.parametrize(
    ("group_key", "target", "many", "reach"),
    [
        ('["key","t","paid","o-1"]', "", True, OWN),
        ('["group","t","g"]', "", True, SPANNING),
        ('["group","t","g"]', "", False, OWN),
        ('["group","t","g","elsewhere"]', "elsewhere", True, REMOTE),
        (moving_group(5), "elsewhere", True, MOVING),
        (moving_group(5), "", False, MOVING),
    ],
)
def test_who_deals_with_a_group_follows_from_its_name(group_key: str, target: str, many: bool, reach: str) -> None:
    assert reach_of(group_key, target, many) == reach


def test_long_names_of_groups_stay_different_and_keep_their_kind() -> None:
    long = ['["group","t","' + "g" * 5_000 + f'{n}"]' for n in range(2)]
    stored = [stored_group(name) for name in long]
    assert len(set(stored)) == 2
    assert max(map(len, stored)) < 500
    assert reach_of(stored[0], "", True) == SPANNING


def test_a_hint_is_read_in_all_spellings() -> None:
    ours = {"name": "paid", "correlation_key": 7, "variables": {"n": 1}, "is_start": True}
    theirs = {"messageName": "paid", "correlationKey": "7", "processVariables": {"n": 1}, "isStart": True}
    assert read_hint(ours) == read_hint(theirs) == Hint("paid", "7", {"n": 1}, is_start=True)


def test_a_hint_changes_only_what_is_said() -> None:
    before = Hint("paid", "wrong", {"n": 1}, business_key="b")
    assert read_hint({"key": "right"}, before) == before._replace(correlation_key="right")


@pytest.mark.parametrize(
    ("said", "problems"),
    [
        ({"colour": "red"}, ["colour: a hint has no such field"]),
        ({"correlation_kye": "k"}, ["correlation_kye: a hint has no such field; did you mean correlation_key?"]),
        ({"name": None, "variables": [1]}, ["name: None is not a text", "variables: [1] is not an object"]),
        ({"isStart": "yes"}, ["is_start: 'yes' is not true or false"]),
        ({"key": "a", "correlationKey": "b"}, ["correlationKey: correlation_key is given twice"]),
    ],
)
def test_everything_that_is_wrong_with_a_hint_is_told(said: Mapping[str, Any], problems: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_hint(said)
    assert caught.value.problems == problems


def test_a_message_for_a_target_that_there_is_not_fails() -> None:
    assert deliver(FULL, {}) == Failed("target_error", "there is no target 'elsewhere'")
