"""The memory budget: estimates that are never less than what decoding takes, and reservations that always come back."""

import asyncio
import tracemalloc
from decimal import Decimal

import msgspec
import pytest

from conjoin.gateway.memory_budget import SMALL, MemoryBudget, Reservation, json_cost

_SIZE = 200_000
_UNITS = {
    "empty objects": "{},",
    "empty lists": "[],",
    "objects": '{"a":1},',
    "nested objects": '{"":' * 50 + "1" + "}" * 50 + ",",
    "nested lists": "[" * 50 + "]" * 50 + ",",
    "small numbers": "1,",
    "numbers": "123456,",
    "fractions": "0.5,",
    "exponents": "1e5,",
    "texts": '"a",',
    "wide texts": '"\N{GRINNING FACE}",',
    "records": '{"order":"o-1234","amount":10.5,"paid":true},',
}


@pytest.mark.parametrize("unit", _UNITS.values(), ids=_UNITS)
def test_decoded_json_takes_no_more_memory_than_was_estimated(unit: str) -> None:
    body = ('{"a":[' + unit * (_SIZE // len(unit)) + "1]}").encode()
    decode = msgspec.json.Decoder(float_hook=Decimal).decode
    tracemalloc.start()
    value = decode(body)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert value
    assert taken <= json_cost(body)


def test_one_wide_character_makes_a_whole_text_wide() -> None:
    assert json_cost(b'"' + b"x" * 1_000 + "\N{GRINNING FACE}".encode() + b'"') >= 5_000


def test_ordinary_records_are_not_taken_for_much_more_than_they_are() -> None:
    body = b"[" + b",".join([b'{"order":"o-1234","customer":"Smith","amount":10.5,"paid":true}'] * 1_000) + b"]"
    assert json_cost(body) < 20 * len(body)


def test_what_can_never_fit_is_told_apart_from_what_does_not_fit_now() -> None:
    budget = MemoryBudget(8 * SMALL)
    with Reservation(budget) as one, Reservation(budget) as other:
        too_large = one.take(7 * SMALL)
        assert too_large is not None
        assert too_large.code == "TOO_LARGE"
        assert one.take(4 * SMALL) is None
        not_now = other.take(4 * SMALL)
        assert not_now is not None
        assert not_now.code == "RESOURCE_EXHAUSTED"
    assert budget.taken == 0


def test_large_requests_leave_something_for_small_ones() -> None:
    budget = MemoryBudget(8 * SMALL)
    with Reservation(budget) as large, Reservation(budget) as small:
        assert large.take(6 * SMALL) is None
        assert small.take(SMALL) is None


def test_who_waits_gets_what_somebody_gives_back() -> None:
    async def wait() -> bool:
        budget = MemoryBudget(8 * SMALL)
        with Reservation(budget) as one, Reservation(budget) as other:
            one.take(6 * SMALL)
            waiting = asyncio.create_task(other.take_in_time(6 * SMALL, 10))
            await asyncio.sleep(0)
            assert not waiting.done()
            one.shrink_to(0)
            return await waiting is None and budget.taken == 6 * SMALL

    assert asyncio.run(wait())


def test_who_waits_for_memory_in_vain_is_refused() -> None:
    async def wait() -> str:
        budget = MemoryBudget(8 * SMALL)
        with Reservation(budget) as one, Reservation(budget) as other:
            one.take(6 * SMALL)
            refusal = await other.take_in_time(6 * SMALL, 0.01)
            return refusal.code if refusal else ""

    assert asyncio.run(wait()) == "RESOURCE_EXHAUSTED"
