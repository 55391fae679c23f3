"""How much a sweep takes at once: little where items cost much, more where the same is paid for any number of them."""

import pytest

from conjoin.runtime.upkeep.sweeper import AT_ONCE, SweepSize


def settled(fixed_s: float, each_s: float) -> list[int]:
    """The sizes of the sweeps from the 40th to the 60th."""
    size, limits = SweepSize(), []
    for _ in range(60):
        limits.append(size.limit)
        size.note(fixed_s + each_s * size.limit)
    return limits[40:]


@pytest.mark.parametrize(("each_s", "fewest", "most"), [(0.001, 5, 20), (0.0001, 18, 22), (0.000001, AT_ONCE, AT_ONCE)])
def test_items_of_a_sweep_take_two_milliseconds(each_s: float, fewest: int, most: int) -> None:
    limits = settled(0, each_s)
    assert fewest <= min(limits)
    assert max(limits) <= most
    assert sorted(limits)[10] <= max(0.0025 / each_s, 5)


def test_what_is_paid_for_any_number_of_items_is_paid_for_many() -> None:
    """A family of very many: whoever ends there has all of its root read and written."""
    assert min(settled(fixed_s=0.040, each_s=0.0002)) > 100
