"""Keys that are easily taken for one another are found by equal forms."""

from hypothesis import example, given
from hypothesis import strategies as st

from conjoin.kernel.verdicts.similar_keys import OTHERWISE, Awaited, almost, difference, forms_of

KEYS = st.text(st.sampled_from("aAbB01 -_:.\"'+ßſς\u00a0"), max_size=7)


@given(KEYS, KEYS)
@example("0 12", "012")
@example('"x"', "x")
@example("ORD-007", "7")
def test_keys_that_are_near_have_a_form_in_common(key: str, other: str) -> None:
    if key != other and difference(key, other) != OTHERWISE:
        its, others = forms_of(key), forms_of(other)
        meet = its.whole in (others.whole, others.rest) or its.rest == others.whole
        assert meet or its.numbered == others.numbered is not None


@given(KEYS, KEYS)
def test_a_difference_is_that_of_both(key: str, other: str) -> None:
    assert difference(key, other) == difference(other, key)


def test_the_nearest_comes_first_and_what_is_quite_another_never() -> None:
    others = [
        *(Awaited("paid", key, "order", f"i-{key}", "wait") for key in ("7", "order-8", "order-7", "ORDER-7", "x-7")),
        Awaited("PAID", "Order-7", "order", "i", "wait"),
    ]
    found = [(miss["key"], miss["differs"], miss.get("name")) for miss, _ in almost("paid", "order-7", others)]
    assert found == [
        ("ORDER-7", "case or blanks only", None),
        ("7", "prefix", None),
        ("Order-7", "case or blanks only", "PAID"),
    ]
