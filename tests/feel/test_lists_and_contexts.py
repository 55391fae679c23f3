"""Lists, contexts, paths, filters and loops."""

import pytest

from tests.feel.cases import Case, check

ORDERS = {"orders": [{"id": 1, "open": True}, {"id": 2, "open": False}, {"id": 3}]}

PATHS: list[Case] = [
    ("a.b", {"a": {"b": 1}}, 1),
    ("a.b.c", {"a": {"b": {"c": 1}}}, 1),
    ("a.b", {}, None),
    ("a.b.c", {"a": {}}, None),
    ("a.b", {"a": None}, None),
    ("a.b", {"a": 5}, None),
    ("a.b", {"a": "text"}, None),
    ("a.`total price`", {"a": {"total price": 2}}, 2),
    ("orders.id", ORDERS, [1, 2, 3]),
    ("orders.open", ORDERS, [True, False, None]),
    ("[[{a: 1}], [{a: 2}]].a", {}, [[1], [2]]),
    ("{a: {b: 1}}.a.b", {}, 1),
    ("[1..5].start", {}, 1),
    ("[1..5).end included", {}, False),
]

CONTEXTS: list[Case] = [
    ("{a: v, b: n}", {"v": 1, "n": 2}, {"a": 1, "b": 2}),
    ('{"a": 1, "b c": 2}', {}, {"a": 1, "b c": 2}),
    ("{a: 2, b: a * 2}", {}, {"a": 2, "b": 4}),
    ("{a: 2, b: a * 2}", {"a": 10}, {"a": 2, "b": 4}),
    ("{b: a * 2, a: 2}", {"a": 10}, {"b": 20, "a": 2}),
    ("{a: 1, b: {c: a + 2}}", {}, {"a": 1, "b": {"c": 3}}),
    ("{a: 1, b: {a: 2, c: a + 3}}.b.c", {}, 5),
    ("{foo bar: 1}.`foo bar`", {}, 1),
    ("{foo+bar: 1}.`foo+bar`", {}, 1),
    ("{if: 1}.`if`", {}, 1),
    ("{are you happy?: 1}", {}, {"are you happy?": 1}),
    ("{a: null}.a", {"a": 1}, None),
    ("{a: null, b: a}.b", {"a": 1}, None),
    ("{x: (xs)[1]}.x", {"xs": [7]}, 7),
]

FILTERS: list[Case] = [
    ("[1,2,3,4][1]", {}, 1),
    ("[1,2,3,4][-1]", {}, 4),
    ("[1,2,3,4][0]", {}, None),
    ("[1,2,3,4][5]", {}, None),
    ("[1,2,3,4][-5]", {}, None),
    ("[1,2,3,4][1.5]", {}, None),
    ("[1,2,3,4][i]", {"i": 2}, 2),
    ("[1,2,3,4][i + 1]", {"i": -2}, 4),
    ("[1,2,3,4][(1)]", {}, 1),
    ("[1,2,3,4][item > 2]", {}, [3, 4]),
    ("[1,2,null,4][item > 2]", {}, [4]),
    ("[1,2,null][item = null]", {}, [None]),
    ("[1,2,3,4][even(item)]", {}, [2, 4]),
    ("[1,2,3,4][modulo(2, 4)]", {}, 2),
    ('[1,2]["no filter"]', {}, None),
    ("[1,2][if item = 1 then true else 5]", {}, None),
    ("[][item > 1]", {}, []),
    ("[][i]", {"i": 1}, None),
    ("[1,2,3,4][item > 2][1]", {}, 3),
    ("[[1]][1][1]", {}, 1),
    ("x.y[1][1]", {"x": {"y": [[9]]}}, 9),
    ("5[1]", {}, 5),
    ("5[item > 3]", {}, [5]),
    ("null[1]", {}, None),
    ("missing[item > 1]", {}, None),
    ("orders[open].id", ORDERS, [1]),
    ("orders[open = false][1].id", ORDERS, 2),
    ("orders[open = null].id", ORDERS, [3]),
    ("orders[id = wanted].id", {**ORDERS, "wanted": 3}, [3]),
    ("orders[item.id = 2].id", ORDERS, [2]),
    ("[{item: 1}, {item: 2}][item >= 2]", {}, [{"item": 2}]),
    ("[{x: 1, y: 2}, {x: 3}][y > 1]", {"y": None}, [{"x": 1, "y": 2}]),
    ("for q in distinct values(xs.p) return count(xs[p = q])", {"xs": [{"p": 1}, {"p": 2}, {"p": 1}]}, [2, 1]),
]

LOOPS: list[Case] = [
    ("for x in [1,2] return x * 2", {}, [2, 4]),
    ("for x in [1,2], y in [3,4] return x * y", {}, [3, 4, 6, 8]),
    ("for x in [[1,2],[3]], y in x return y", {}, [1, 2, 3]),
    ("for x in 1..3 return x", {}, [1, 2, 3]),
    ("for x in 3..1 return x", {}, [3, 2, 1]),
    ("for x in 1..n return x", {"n": 2}, [1, 2]),
    ("for x in (1..4) return x", {}, [2, 3]),
    ("for x in [1..3] return x", {}, [1, 2, 3]),
    ("for x in [] return x", {}, []),
    ("for x in null return x", {}, None),
    ("for x in 5 return x", {}, None),
    ("for x in 1..1.5 return x", {}, None),
    ("for x in 1..3 return v", {"v": 1, "x": 2}, [1, 1, 1]),
    ("for i in 1..6 return if i <= 2 then 1 else partial[-1] + partial[-2]", {}, [1, 1, 2, 3, 5, 8]),
    ("for x in [1,2] return partial", {}, [[], [[]]]),
    ("some x in [1,2,3] satisfies x > 2", {}, True),
    ("some x in [1,2,3] satisfies x > 3", {}, False),
    ("some x in [1,2], y in [2,3] satisfies x > y", {}, False),
    ("some x in [1,null] satisfies x > 3", {}, None),
    ("some x in [5,null] satisfies x > 3", {}, True),
    ("some x in [] satisfies x", {}, False),
    ("every x in [1,2,3] satisfies x >= 1", {}, True),
    ("every x in [1,2,3] satisfies x >= 2", {}, False),
    ("every x in [1,null] satisfies x >= 1", {}, None),
    ("every x in 1..5 satisfies x < 10", {}, True),
    ("every x in [] satisfies x", {}, True),
    ("every x in null satisfies x", {}, None),
]


@pytest.mark.parametrize(("text", "variables", "expected"), PATHS + CONTEXTS + FILTERS + LOOPS)
def test_lists_contexts_paths_filters_and_loops(text: str, variables: dict, expected: object) -> None:
    check(text, variables, expected)


def test_a_partial_result_that_is_kept_does_not_grow_afterwards() -> None:
    check("for x in 1..3 return count(partial)", {}, [0, 1, 2])
    check("(for x in 1..3 return partial)[1]", {}, [])


def test_variables_are_never_changed() -> None:
    variables = {"xs": [1], "c": {"a": {"b": 1}}}
    for text in (
        "append(xs, 2)",
        'context put(c, ["a", "b"], 2)',
        "insert before(xs, 1, 0)",
        "context merge(c, {a: 2})",
    ):
        check(f"{text} != null", variables, True)
    assert variables == {"xs": [1], "c": {"a": {"b": 1}}}
