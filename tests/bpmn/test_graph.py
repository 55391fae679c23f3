"""Ways through graphs."""

import pytest

from conjoin.bpmn.analysis.graph import knots, reachable, way_round

EIGHT = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": ["e"], "e": ["d", "f"], "f": []}


def test_reachable_holds_the_beginning_and_all_that_follows() -> None:
    assert reachable(["d"], EIGHT) == {"d", "e", "f"}


def test_knots_are_the_groups_that_lead_to_each_other() -> None:
    assert sorted(knots(EIGHT)) == [["a", "b", "c"], ["d", "e"]]


def test_node_that_follows_itself_is_a_knot_and_one_alone_is_none() -> None:
    assert knots({"a": ["a"], "b": []}) == [["a"]]


@pytest.mark.parametrize(("begin", "way"), [("a", ["a", "b", "c"]), ("e", ["e", "d"]), ("f", [])])
def test_way_round_is_the_shortest_one_back(begin: str, way: list[str]) -> None:
    assert way_round(begin, EIGHT) == way


def test_long_chains_need_no_recursion() -> None:
    chain = {number: [number + 1] for number in range(100_000)} | {100_000: [0]}
    assert len(knots(chain)[0]) == 100_001
