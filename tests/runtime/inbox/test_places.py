"""A place sorts as the kernel orders, whatever a message is ordered by."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from conjoin.kernel.inbox.groups import order_of
from conjoin.runtime.inbox.placement import place_of
from tests.conftest import the_seed
from tests.kernel.inbox.simulator import make, preset

NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=True, allow_infinity=True),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, -0.0, 0.1, -0.1, 1, 10, 100, 1.5, -1.5, 2**63, 10**400, -(10**400), True]),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["", "\0", "\x01", "\x02", "a\0"]
)
ABOUT = st.fixed_dictionaries(
    {
        "sort_value": st.none() | NUMBERS | TEXTS,
        "message_id": TEXTS,
        "event_at": st.integers(-(2**63), 2**63 - 1),
        "position": st.integers(-5, 2**40),
    }
)


@seed(the_seed())
@settings(max_examples=400, deadline=None)
@given(st.lists(ABOUT, min_size=2, max_size=6), st.sampled_from(["event_time", "message_id", "= seq"]))
def test_places_sort_as_the_kernel_orders(said: list[dict[str, Any]], order: str) -> None:
    given_settings = preset(order=order)
    messages = [make(key, **about) for key, about in enumerate(said)]
    by_place = sorted(messages, key=lambda message: (place_of(message, given_settings), message.key))
    assert by_place == sorted(messages, key=order_of(given_settings))


@seed(the_seed())
@settings(max_examples=200, deadline=None)
@given(ABOUT, st.sampled_from(["message_id", "= seq"]))
def test_a_place_is_a_text_that_every_database_keeps(about: dict[str, Any], order: str) -> None:
    place = place_of(make(1, **about), preset(order=order))
    assert "\0" not in place
    assert len(place.encode()) < 2_000


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [(-(10**30), -1), (-1.25, -1.2), (-1, -0.5), (-0.5, 0), (0, 1e-300), (0.1, Decimal("0.11")), (9, 10), (99.5, 100)],
)
def test_numbers_are_compared_as_numbers(smaller: Any, larger: Any) -> None:
    by_value = preset(order="= seq")
    assert place_of(make(2, sort_value=smaller), by_value) < place_of(make(1, sort_value=larger), by_value)


def test_half_a_pair_of_surrogates_is_a_place_all_the_same() -> None:
    assert place_of(make(1, message_id="a\ud800"), preset(order="message_id")).encode()
