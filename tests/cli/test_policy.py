"""conjoin store policy: set, changed one by one, taken back, and listed with what was ever set."""

import pytest

from conjoin.testing.clock import FakeClock
from tests.cli.command import Command


def test_what_is_not_named_stays_and_an_empty_answer_takes_back(shop: Command) -> None:
    assert shop.tells("policy set paid dedup=7d expected=2") == "policy paid: dedup=7d, expected=2"
    assert (
        shop.tells("policy set paid expected=3 cardinality=all") == "policy paid: dedup=7d, expected=3, cardinality=all"
    )
    assert shop.tells("policy set paid dedup= expected= cardinality=") == "policy paid: as the profile says"
    assert shop.tells("policy list") == "profile zeebe, and nothing was set"


def test_list_tells_what_holds_since_when_and_every_change(shop: Command, clock: FakeClock) -> None:
    shop.tells("policy set '*' time_to_live=1h")
    clock.advance_ms(1_000)
    shop.tells("policy set 'Order placed' start_uniqueness=none")
    shop.tells("policy set '*' time_to_live=2h")
    assert shop.tells("policy list").splitlines() == [
        "profile zeebe",
        "policy *: time_to_live=2h (since 2030-01-01T00:00:01Z)",
        "policy Order placed: start_uniqueness=none (since 2030-01-01T00:00:01Z)",
    ]
    told = shop.json("policy list")
    assert told["policies"] == {"*": {"time_to_live": "2h"}, "Order placed": {"start_uniqueness": "none"}}
    assert [(change["catalog_version"], change["policy"]) for change in told["changes"]] == [
        (2, {"time_to_live": "1h"}),
        (3, {"start_uniqueness": "none"}),
        (4, {"time_to_live": "2h"}),
    ]


def test_policy_holds_for_the_messages_that_come_after(shop: Command) -> None:
    shop.tells("policy set paid on_no_match=reject")
    assert shop.refuses("publish paid --key o-1 --ttl 1h").startswith("NOT_FOUND: ")
    assert shop.json("publish lost --key o-1 --ttl 1h")["verdict"] == "buffered"


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ("dedup", "'dedup' is not like QUESTION=ANSWER, such as dedup=7d"),
        ("dedup=soon", "policy 'paid': dedup: 'soon' is not "),
        ("dedupe=7d", "policy 'paid': dedupe: there is no such policy; there are cardinality, "),
        ("dedup=off on_duplicate=acknowledge", "policy 'paid': on_duplicate acknowledge needs ids to be remembered"),
        ("expected=many", "policy 'paid': expected: 'many' is neither "),
    ],
)
def test_answers_that_make_no_sense_are_named_and_not_set(answers: str, told: str, shop: Command) -> None:
    assert shop.cannot(f"policy set paid {answers}").startswith(told)
    assert shop.json("policy list")["changes"] == []
