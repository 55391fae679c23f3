"""Keys and ranks: a shard and a counter, turned around."""

import pytest

from conjoin.kernel.keys import Keys, key_of_rank, rank_of, shard_of_key


@pytest.mark.parametrize("shard", [0, 1, 7, 8_000])
@pytest.mark.parametrize("counter", [1, 2, 2**40, 2**51 - 1])
def test_a_rank_is_a_key_turned_around(shard: int, counter: int) -> None:
    key = (shard + 1) << 51 | counter
    assert shard_of_key(key) == shard
    assert key_of_rank(rank_of(key)) == key


def test_ranks_order_by_counter_then_shard() -> None:
    keys = [(shard + 1) << 51 | counter for counter in (1, 2, 3) for shard in (0, 1, 2)]
    assert sorted(keys, key=rank_of) == keys


def test_a_used_key_is_never_handed_out_again() -> None:
    keys = Keys(2)
    first = keys.take()
    keys.used(first + 10)
    keys.used(first + 3)
    assert keys.take() == first + 11


def test_following_another_shard_never_goes_back() -> None:
    keys = Keys(0)
    keys.follow(100)
    keys.follow(50)
    assert keys.take() & (2**51 - 1) == 100
    assert shard_of_key(keys.take()) == 0
