"""Keys that are easily taken for one another are found by equal forms."""

from hypothesis import example, given
from hypothesis import strategies as st

from conjoin.kernel.verdicts.nearest import nearest
from conjoin.kernel.verdicts.ranking import told
from conjoin.kernel.verdicts.similar_keys import NUMBER, OTHERWISE, Awaited, difference, folded, forms_of, other_key
from conjoin.kernel.verdicts.slips import CUT, DIGIT, halves_awaited, halves_sent, neighbours, slip, stands_alone

KEYS = st.text(st.sampled_from("aAbB01 -_:.,\"'+ßſς\u00a0"), max_size=7)


@given(KEYS, KEYS)
@example("0 12", "012")
@example('"x"', "x")
@example("ORD-007", "7")
@example("1.0", "1")
@example("0.10", "0.1")
def test_keys_that_are_near_have_a_form_in_common(key: str, other: str) -> None:
    if key != other and difference(key, other) != OTHERWISE:
        its, others = forms_of(key), forms_of(other)
        meet = its.whole in (others.whole, others.rest) or its.rest == others.whole
        assert meet or its.numbered == others.numbered is not None


@given(KEYS, KEYS)
def test_a_difference_is_that_of_both(key: str, other: str) -> None:
    assert difference(key, other) == difference(other, key)


def awaited(*keys: str) -> list[Awaited]:
    return [Awaited("paid", key, "order", f"i-{key}", "wait") for key in keys]


def test_the_likeliest_comes_first_and_what_is_quite_another_never() -> None:
    others = awaited("7", "order-8", "order-7", "ORDER-7", "x-7", "ordre-7", "order_7")
    found = nearest("order-7", others, lambda _: ())
    misses = [other_key("paid", "order-7", it, differs) for differs, it in found]
    assert [(miss["key"], miss["differs"]) for miss in told(misses)] == [
        ("ORDER-7", "case or blanks only"),
        ("order_7", "punctuation only"),
        ("7", "prefix"),
    ]


def test_a_slip_is_looked_for_only_where_nobody_waits_with_the_same_key_written_otherwise() -> None:
    key = "anna.schmidt@example.com"
    slips = ["anna.schmitd@example.com", "anna.shmidt@example.com"]
    assert [differs for differs, _ in nearest(key, awaited(*slips), lambda _: ())] == ["two letters", "a letter"]
    assert [it.key for _, it in nearest(key, awaited(*slips, key.upper()), lambda _: ())] == [key.upper()]
    # Three that are so near differ by nature.
    assert nearest("room-delta", awaited("room-delto", "room-delti", "room-deltu"), lambda _: ()) == []


def test_a_fraction_says_something_unless_it_is_zero() -> None:
    for one, other in (
        ("10.1", "10.2"),
        ("10.1", "10"),
        ("2.05", "2.5"),
        ("order-10.1", "order-10.01"),
        ("1,10", "1,1"),
    ):
        assert difference(one, other) == OTHERWISE
    for one, other in (("10.0", "10"), ("order-10.00", "order-10"), ("2026.01.05", "2026.1.5"), ("007.5", "7.5")):
        assert difference(one, other) == NUMBER
    versions = awaited(*(f"10.{number}" for number in range(1, 9)))
    assert nearest("10.77", versions, lambda _: [it.key for it in versions]) == []


def test_where_many_keys_are_the_same_but_for_one_way_to_write_it_none_of_them_is_named() -> None:
    many = [f"{prefix}-7" for prefix in ("order", "parcel", "customer", "invoice")]
    assert nearest("7", awaited(*many), lambda _: ()) == []
    assert [it.key for _, it in nearest("7", awaited(*many, "007"), lambda _: ())] == ["007"]
    assert [it.key for _, it in nearest("7", awaited(*many[:3]), lambda _: ())] == many[:3]


RICH = st.text(st.sampled_from("abcdef0123456789@.-"), min_size=9, max_size=24)


@given(
    RICH, st.integers(0, 23), st.sampled_from("abc1@."), st.sampled_from(("put in", "left out", "another", "swapped"))
)
def test_a_key_with_a_slip_has_a_half_in_common_with_the_other(key: str, place: int, letter: str, kind: str) -> None:
    place %= len(key) - 1
    tail = {"put in": key[place:], "left out": key[place + 1 :], "another": key[place + 1 :]}
    swapped = key[place + 1] + key[place] + key[place + 2 :]
    sent = key[:place] + ("" if kind in ("left out", "swapped") else letter) + tail.get(kind, swapped)
    found = slip(sent, key)
    if found not in (None, CUT) and halves_awaited(folded(key)) and halves_sent(folded(sent)):
        common = set(halves_awaited(folded(key))) & set(halves_sent(folded(sent)))
        # Two that change places in the very middle leave no half as it is.
        assert common or kind == "swapped"


def test_numbers_handed_out_in_a_row_are_no_slips_of_each_other() -> None:
    around = [f"inv-{number}" for number in range(100_000, 100_050)]
    assert slip("inv-100007", "inv-100009") == DIGIT
    assert not stands_alone("inv-100007", "inv-100009", DIGIT, around)
    assert not stands_alone("4095", "4096", DIGIT, ())
    far = [str(number) for number in range(10**15, 9 * 10**15, 10**14)]
    assert stands_alone("4095118822137741", "4095118822137740", DIGIT, far)
    assert not stands_alone("4095118822137741", "4095118822137740", DIGIT, ())


def test_every_slip_of_a_key_is_among_its_neighbours() -> None:
    key = "6f8fc2d0-1497-4df5-92b0-e90c950287e4"
    near = set(neighbours(key))
    assert {"6f8fc2d0-1497-4df5-92b0-e90c950287e5", "f68fc2d0-1497-4df5-92b0-e90c950287e4", key[1:], f"0{key}"} <= near
    assert key not in near
    assert neighbours("x" * 100) == []
