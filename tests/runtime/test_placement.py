"""Where a key and an instance live: Zeebe's own partitions."""

import pytest

from conjoin.bpmn import read_model
from conjoin.runtime.engine.placement import hash_of, home_of, shard_of
from tests.testing.order import ORDER


@pytest.mark.parametrize(
    ("key", "shards", "shard"),
    [("item-2", 3, 0), ("item-1", 3, 1), ("item-0", 3, 2), ("test-2", 2, 1), ("", 2, 0), ("", 7, 0)],
)
def test_published_partitions_of_zeebe(key: str, shards: int, shard: int) -> None:
    assert shard_of(key, shards) == shard


def test_hash_is_over_signed_utf8_bytes_wrapped_to_32_bits() -> None:
    assert hash_of("hello") == 99162322
    assert hash_of("polygenelubricants") == -(2**31)
    assert hash_of("é") == (-61) * 31 + (-87)
    assert shard_of("polygenelubricants", 3) == 2**31 % 3


def test_an_instance_lives_where_its_first_message_will_arrive() -> None:
    plan = read_model(ORDER).plans[0]
    for key in ("a", "b", "c", 12):
        assert home_of(plan, {"orderId": key}, 0, 1, 5) == shard_of(str(key), 5)


def test_an_instance_without_a_known_key_is_spread_by_its_number() -> None:
    plan = read_model(ORDER).plans[0]
    homes = {home_of(plan, {}, 0, number, 5) for number in range(50)}
    assert homes == {0, 1, 2, 3, 4}
