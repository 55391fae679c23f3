"""A model twice as large is about twice the work to judge, whatever it is made of. Work is counted, not timed."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from conjoin.bpmn import judge
from tests.bpmn.snippets import BEGIN, END, boundary, catch, flow, message, model, script, service

SMALL, LARGE = 100, 300
LARGEST_GROWTH = 1.3 * LARGE / SMALL


def _chained(ids: list[str]) -> str:
    return "".join(flow(one, other) for one, other in zip(["begin", *ids], ids, strict=False))


def _fan(ids: list[str], tag: str = "parallelGateway") -> str:
    return f'<{tag} id="split"/>\n' + flow("begin", "split") + "".join(flow("split", each) for each in ids)


def _links(count: int) -> bytes:
    throw = '<intermediateThrowEvent id="t{0}"><linkEventDefinition name="l{0}"/></intermediateThrowEvent>\n'
    caught = '<intermediateCatchEvent id="c{0}"><linkEventDefinition name="l{0}"/></intermediateCatchEvent>\n'
    events = "".join(throw.format(number) + caught.format(number) for number in range(count))
    return model(BEGIN + events + _fan([f"t{number}" for number in range(count)]))


def _branches_with_one_message(count: int) -> bytes:
    ids = [f"c{number}" for number in range(count)]
    return model(BEGIN + "".join(map(catch, ids)) + _fan(ids), "", message("paid_message", "paid"))


def _a_row_with_one_message(count: int) -> bytes:
    ids = [f"c{number}" for number in range(count)]
    return model(BEGIN + "".join(map(catch, ids)) + _chained(ids), "", message("paid_message", "paid"))


def _keys_of_their_own(count: int) -> bytes:
    ids = [f"c{number}" for number in range(count)]
    messages = (message(f"m{number}", f"paid {number}", f"=variable_{number}") for number in range(count))
    return model(BEGIN + "".join(catch(each, f"m{each[1:]}") for each in ids) + _fan(ids), "", "".join(messages))


def _names_alike(count: int) -> bytes:
    ids = [f"c{number}" for number in range(count)]
    messages = (message(f"m{number}", "paid" + " " * number) for number in range(count))
    return model(BEGIN + "".join(catch(each, f"m{each[1:]}") for each in ids) + _fan(ids), "", "".join(messages))


def _starts(count: int) -> bytes:
    start = '<startEvent id="s{0}"><messageEventDefinition messageRef="m{0}"/></startEvent>\n'
    starts = "".join(start.format(number) + flow(f"s{number}", "work") for number in range(count))
    return model(starts + service("work"), "", "".join(message(f"m{number}", f"{number}") for number in range(count)))


def _boundaries(count: int) -> bytes:
    caught = '<messageEventDefinition messageRef="m{}"/>'
    events = "".join(boundary(f"b{n}", f"w{n // 50}", caught.format(n), 'cancelActivity="false"') for n in range(count))
    ids = [f"w{number}" for number in range((count + 49) // 50)]
    messages = "".join(message(f"m{number}", f"{number}") for number in range(count))
    return model(BEGIN + "".join(map(service, ids)) + events + _fan(ids), "", messages)


def _scripts(count: int) -> bytes:
    ids = [f"x{number}" for number in range(count)]
    return model(BEGIN + "".join(script(each, f"=n + {each}") for each in ids) + _chained(ids))


def _a_long_expression(count: int) -> bytes:
    return model(BEGIN + script("sum", "=" + "+".join(["a"] * 10 * count)) + END, "begin>sum sum>end")


def _joins(count: int) -> bytes:
    gateways = "".join(f'<parallelGateway id="j{number}"/>\n<manualTask id="t{number}"/>\n' for number in range(count))
    flows = "".join(flow(f"t{number}", f"j{number}") for number in range(count))
    ids = [each for number in range(count) for each in (f"j{number}", f"t{number}")]
    return model(BEGIN + gateways + flows + _fan(ids))


def _choices(count: int) -> bytes:
    ids = [f"g{number}" for number in range(count)]
    return model(BEGIN + "".join(f'<inclusiveGateway id="{each}"/>\n' for each in ids) + _chained(ids))


def _calls_made(content: bytes) -> int:
    count = 0

    def seen(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        judge(content, "m.bpmn")
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "made",
    [
        *(_links, _branches_with_one_message, _a_row_with_one_message, _names_alike, _starts),
        *(_boundaries, _scripts, _a_long_expression, _joins, _choices),
    ],
)
def test_work_grows_with_the_size_of_a_model(made: Callable[[int], bytes]) -> None:
    judge(made(SMALL - 1), "m.bpmn")
    assert _calls_made(made(LARGE)) < LARGEST_GROWTH * _calls_made(made(SMALL))


def test_names_are_compared_with_each_other_up_to_a_number() -> None:
    few, many = 2 * SMALL, 2 * LARGE
    assert _calls_made(_keys_of_their_own(many)) < LARGEST_GROWTH * _calls_made(_keys_of_their_own(few))
