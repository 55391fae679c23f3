"""Keys that a client may send, however long and of whatever characters: that costs little time, and raises nothing."""

from time import process_time

import pytest

from conjoin.kernel.storable import LONGEST_KEY
from conjoin.kernel.verdicts.nearest import nearest
from conjoin.kernel.verdicts.similar_keys import OTHERWISE, Awaited, difference, folded, forms_of, variants
from conjoin.kernel.verdicts.slips import DIGIT, halves_sent, neighbours, slip, stands_alone

BITS = (
    "-",
    "_",
    "0",
    "9",
    "²",
    "፩",
    "٣",
    " ",
    "a ",
    "a-",
    "a_1",
    "0.",
    ".0",
    "%41",
    "%",
    '"',
    "ä",
    "\u0301\u0316",
    ":",
    "1@",
)
"""Of which a key is made: separators, zeros, digits that are no numbers, marks that are put in order, ..."""
ENOUGH_S = 2.0


@pytest.mark.parametrize("bit", BITS)
def test_the_longest_key_costs_little(bit: str) -> None:
    key = ("a" + bit * LONGEST_KEY)[:LONGEST_KEY]
    waiting = [Awaited("paid", f"{number}{key[1:]}", "order", number, "paid") for number in range(200)]
    began = process_time()
    for one in (key, key[1:], key[:-1] + "b"):
        forms_of(one)
        assert sum(map(len, variants(one))) <= 8 * len(one)
        assert neighbours(one) == []
        assert halves_sent(folded(one)) == []
        nearest(one, waiting, lambda _: ())
    assert process_time() - began < ENOUGH_S


@pytest.mark.parametrize("bit", BITS)
@pytest.mark.parametrize("length", [3, 63, 64, 199, 200, 201])
def test_keys_about_as_long_as_those_that_are_compared_raise_nothing(bit: str, length: int) -> None:
    key, other = ("a" + bit * length)[:length], ("1" + bit * length)[:length]
    around = [("1" + bit * number + "7" * length)[:length] for number in range(length)]
    began = process_time()
    nearest(key, [Awaited("paid", it, "order", 1, "paid") for it in (other, *around)], lambda _: around)
    assert process_time() - began < ENOUGH_S


def test_a_digit_that_is_no_number_stands_in_none() -> None:
    assert slip("12፩4", "13፩4") == DIGIT
    assert not stands_alone("12፩4", "13፩4", DIGIT, ["1፩፩4", "²²፩4", "99፩4"])


def test_of_a_long_key_only_case_and_blanks_are_looked_at() -> None:
    key = "x" * 300
    assert difference(key, f" {key.upper()}") == "case or blanks only"
    assert difference(key, f'"{key}"') == difference(key, f"{key}-1") == OTHERWISE
