"""Searches: filters against a plain filter of all items, orders, and pages that neither repeat nor leave out."""

import base64
import json
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

import pytest

from conjoin.errors import InputError
from conjoin.gateway.search import SEARCHES
from conjoin.gateway.search.engine.engine import page_as_json, search
from conjoin.gateway.search.engine.filters import is_like
from conjoin.gateway.search.engine.request import read_request
from conjoin.gateway.search.engine.search import Search
from tests.bpmn.snippets import BEGIN, END, extended, model, service
from tests.gateway.rest.conftest import PEOPLE, STUCK
from tests.runtime.broker_bench import HOUR_MS, STOCK, Bench


def calling(process_id: str, called: str) -> bytes:
    call = extended("callActivity", "call", f'<zeebe:calledElement processId="{called}"/>')
    return model(BEGIN + call + END, "begin>call call>end").replace(b'id="order"', f'id="{process_id}"'.encode())


INNER = model(BEGIN + service("work") + END, "begin>work work>end").replace(b'id="order"', b'id="inner"')


@pytest.fixture(scope="module")
def bench() -> Bench:
    """A bit of everything, on three shards."""
    bench = Bench(3)
    calls = (INNER, calling("middle", "inner"), calling("outer", "middle"))
    for number, content in enumerate((None, STOCK, STUCK, PEOPLE, *calls)):
        bench.deploy(*(() if content is None else (content,)), name=f"model-{number}.bpmn")
    for number in range(12):
        bench.wait_ms(1_000)
        variables = {"orderId": f"o-{number}", "n": number}
        bench.start("order" if number % 3 else "stock", variables, business_id=f"b-{number % 4}")
    for number in range(6):
        bench.wait_ms(1_000)
        bench.publish(key=f"o-{number}", ttl_ms=HOUR_MS)
        bench.publish("opened", f"t-{number}")
    for number in range(3):
        bench.start("stuck", {"number": number})
        bench.start("people", {"groups": ["a"], "number": number})
    for number in range(2):
        bench.start("outer", {"number": number})
    jobs = bench.broker.activate_jobs("ship", 3)
    assert isinstance(jobs, list)
    bench.broker.complete_job(jobs[0].key, {"sent": True})
    bench.broker.fail_job(jobs[1].key, 0, "no boxes")
    bench.broker.fail_job(jobs[2].key, 2, "later", 60_000)
    return bench


def asked(bench: Bench, what: Search, **said: Any) -> dict[str, Any]:
    return page_as_json(what, search(bench.broker, what, read_request(what, said)))


def every(bench: Bench, what: Search) -> list[dict[str, Any]]:
    return list(asked(bench, what, page={"limit": 10_000})["items"])


ALL = pytest.mark.parametrize("what", SEARCHES.values(), ids=list(SEARCHES))


@ALL
def test_everything_is_found_and_counted(bench: Bench, what: Search) -> None:
    found = asked(bench, what)
    assert len(found["items"]) == found["page"]["totalItems"] > 2
    assert found["page"]["hasMoreTotalItems"] is False


@ALL
def test_pages_in_every_order_have_each_item_once_forward_and_backward(bench: Bench, what: Search) -> None:
    whole = every(bench, what)
    size = max(len(whole) // 3, 2)
    for number, field in enumerate(what.sort_fields.values()):
        descending = number % 2 == 1
        sort = [{"field": field.name, "order": "DESC" if descending else "ASC"}]
        forward, last = _walk(bench, what, sort, size)
        assert sorted(map(repr, forward)) == sorted(map(repr, whole)), field.name
        assert forward == asked(bench, what, sort=sort, page={"limit": 10_000})["items"], field.name
        assert _backward(bench, what, sort, size, last) == forward[:-1], field.name
        values = [it[field.name] for it in forward if it[field.name] is not None] if field.is_shown else []
        if field.kind.name in ("text", "instant", "number"):
            assert all(a >= b if descending else a <= b for a, b in pairwise(values)), field.name


def _walk(bench: Bench, what: Search, sort: Any, size: int) -> tuple[list[Any], str]:
    found: list[Any] = []
    page: dict[str, Any] = {"limit": size}
    last = ""
    while True:
        told = asked(bench, what, sort=sort, page=page)
        if not told["items"]:
            return found, last
        found += told["items"]
        last = told["page"]["endCursor"]
        page = {"limit": size, "after": last}


def _backward(bench: Bench, what: Search, sort: Any, size: int, before: str) -> list[Any]:
    found: list[Any] = []
    while True:
        told = asked(bench, what, sort=sort, page={"limit": size, "before": before})
        if not told["items"]:
            return found
        found = told["items"] + found
        before = told["page"]["startCursor"]


@ALL
def test_filters_find_what_a_plain_filter_finds(bench: Bench, what: Search) -> None:
    whole = every(bench, what)
    for field in what.filter_fields.values():
        if not field.is_shown:
            continue
        values = sorted({it[field.name] for it in whole if it[field.name] is not None})
        for operator, value, test in _trials(values, field.kind.operators):
            found = asked(bench, what, filter={field.name: {operator: value}}, page={"limit": 10_000})
            expected = [it for it in whole if test(it[field.name])]
            assert found["items"] == expected, (field.name, operator, value)
            assert found["page"]["totalItems"] == len(expected), (field.name, operator, value)


def _trials(values: list[Any], operators: Any) -> Any:
    """Operators with a value, and what they mean."""
    yield "$exists", True, lambda it: it is not None
    yield "$exists", False, lambda it: it is None
    if not values:
        return
    value = values[len(values) // 2]
    pattern = f"{value[:1]}*{value[-1:]}" if isinstance(value, str) else ""
    meant = {
        "$eq": (value, lambda it: it == value),
        "$neq": (value, lambda it: it != value),
        "$in": ([value, values[0]], lambda it: it in (value, values[0])),
        "$notIn": ([value], lambda it: it != value),
        "$like": (pattern, lambda it: it is not None and fnmatchcase(it, pattern)),
        "$gt": (value, lambda it: it is not None and it > value),
        "$gte": (value, lambda it: it is not None and it >= value),
        "$lt": (value, lambda it: it is not None and it < value),
        "$lte": (value, lambda it: it is not None and it <= value),
    }
    yield from ((operator, *meant[operator]) for operator in operators if operator in meant)


def test_conditions_are_all_asked_and_alternatives_one_of(bench: Bench) -> None:
    what = SEARCHES["process-instances"]
    both = {"processDefinitionId": "order", "businessId": {"$in": ["b-1", "b-2"], "$neq": "b-2"}}
    assert {it["businessId"] for it in asked(bench, what, filter=both)["items"]} == {"b-1"}
    either = {
        "processDefinitionId": {"$in": ["order", "stock"]},
        "$or": [{"state": "COMPLETED"}, {"businessId": "b-1"}],
    }
    found = asked(bench, what, filter=either)["items"]
    assert {it["state"] for it in found} == {"ACTIVE", "COMPLETED"}
    assert all(it["businessId"] == "b-1" or it["state"] == "COMPLETED" for it in found)


def test_instances_are_found_by_variables_and_by_where_they_are(bench: Bench) -> None:
    what = SEARCHES["process-instances"]
    by_variable = {"variables": [{"name": "orderId", "value": '"o-7"'}]}
    [found] = asked(bench, what, filter=by_variable)["items"]
    assert found["processDefinitionId"] == "order"
    like = {"variables": [{"name": "orderId", "value": {"$like": '"o-1*'}}]}
    assert len(asked(bench, what, filter=like)["items"]) == 3
    assert len(asked(bench, what, filter={"elementId": "ask"})["items"]) == 3


def test_called_instances_tell_who_called_them(bench: Bench) -> None:
    what = SEARCHES["process-instances"]
    [outer, _] = asked(bench, what, filter={"processDefinitionId": "outer"})["items"]
    family = [outer]
    for name in ("middle", "inner"):
        above = family[-1]
        [called] = asked(bench, what, filter={"parentProcessInstanceKey": above["processInstanceKey"]})["items"]
        filters = {"processInstanceKey": above["processInstanceKey"], "elementId": "call"}
        [call] = asked(bench, SEARCHES["element-instances"], filter=filters)["items"]
        assert (called["processDefinitionId"], called["parentElementInstanceKey"]) == (name, call["elementInstanceKey"])
        family.append(called)
    assert {it["rootProcessInstanceKey"] for it in family} == {outer["processInstanceKey"]}


def test_tasks_are_found_by_a_candidate(bench: Bench) -> None:
    what = SEARCHES["user-tasks"]
    assert len(asked(bench, what, filter={"candidateGroup": "a"})["items"]) == 3
    assert asked(bench, what, filter={"candidateGroup": {"$in": ["b", "c"]}})["items"] == []
    assert asked(bench, what, filter={"candidateUser": {"$like": "*"}})["items"] == []


def test_order_in_several_directions_with_an_offset(bench: Bench) -> None:
    what = SEARCHES["process-instances"]
    sort = [{"field": "businessId", "order": "DESC"}, {"field": "processInstanceKey", "order": "ASC"}]
    found = asked(bench, what, sort=sort)["items"]
    ranks = [(-ord((it["businessId"] or "b-\0")[2]), int(it["processInstanceKey"])) for it in found]
    assert ranks == sorted(ranks)
    assert asked(bench, what, sort=sort, page={"from": 3, "limit": 4})["items"] == found[3:7]
    assert asked(bench, what, page={"from": 5, "limit": 2})["items"] == every(bench, what)[5:7]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"filter": {"nonsense": 1}}, "filter.nonsense"),
        ({"filter": {"state": "OPEN"}}, "ACTIVE"),
        ({"filter": {"state": {"$gt": "ACTIVE"}}}, "$gt"),
        ({"filter": {"processInstanceKey": 7}}, "a key"),
        ({"filter": {"processInstanceKey": "9" * 26}}, "a key"),
        ({"filter": {"startDate": {"$gt": "yesterday"}}}, "instant"),
        ({"filter": {"processDefinitionId": {"$like": "*a" * 20}}}, "asterisks"),
        ({"filter": {"processDefinitionId": {"$in": "a"}}}, "list"),
        ({"filter": {"variables": "n"}}, "variables"),
        ({"filter": {"$or": [{"nonsense": 1}]}}, "nonsense"),
        ({"sort": [{"field": "tags"}]}, "tags"),
        ({"sort": [{"field": "state", "order": "UP"}]}, "UP"),
        ({"sort": [{"fields": "state"}]}, "sort.fields"),
        ({"page": {"limit": 0}}, "page.limit"),
        ({"page": {"limit": 10_001}}, "page.limit"),
        ({"page": {"size": 1}}, "page.size"),
        ({"page": {"after": "bm90", "before": "bm90"}}, "exclude"),
        ({"page": {"after": "bm90"}}, "cursor"),
        ({"pages": {}}, "[pages]"),
    ],
)
def test_what_is_wrong_with_a_search_is_named(bench: Bench, said: Any, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        asked(bench, SEARCHES["process-instances"], **said)
    assert problem in str(raised.value)


def test_cursor_belongs_to_one_search_and_one_order(bench: Bench) -> None:
    cursor = asked(bench, SEARCHES["jobs"], page={"limit": 1})["page"]["endCursor"]
    for what, sort in (("incidents", []), ("jobs", [{"field": "type"}])):
        with pytest.raises(InputError, match="cursor"):
            asked(bench, SEARCHES[what], sort=sort, page={"after": cursor})


@ALL
@pytest.mark.parametrize("number", [-(2**62), -1, 0, 1, 2**62, 2**63 - 1])
def test_cursor_that_a_client_made_up_finds_something_or_nothing(bench: Bench, what: Search, number: int) -> None:
    for sort in ([], [{"field": what.key.name, "order": "DESC"}]):
        given = asked(bench, what, sort=sort, page={"limit": 1})["page"]["endCursor"]
        text = base64.urlsafe_b64decode(given + "=" * (-len(given) % 4))
        version, name, [*position, _] = json.loads(text)
        for made_up in (position, [2**63 - 1 if isinstance(it, int) else it for it in position]):
            cursor = base64.urlsafe_b64encode(json.dumps([version, name, [*made_up, number]]).encode()).decode()
            for side in ("after", "before"):
                asked(bench, what, sort=sort, page={side: cursor.rstrip("=")})


def test_more_than_can_be_counted_or_sorted_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from conjoin.gateway.search.engine import engine

    what = SEARCHES["process-instances"]
    monkeypatch.setattr(engine, "MOST_COUNTED", 5)
    for filters in ({}, {"hasIncident": False}):
        page = asked(bench, what, filter=filters, page={"limit": 2})["page"]
        assert (page["totalItems"] <= 5, page["hasMoreTotalItems"]) == (True, True)
    monkeypatch.setattr(engine, "MOST_SORTED", 5)
    with pytest.raises(InputError, match="too many to sort them by state ASC: filter for fewer than 5, or sort by"):
        asked(bench, what, sort=[{"field": "state"}])
    monkeypatch.setattr(engine, "MOST_LOOKED_AT", 4)
    found: list[Any] = []
    page_asked: dict[str, Any] = {"limit": 100}
    while (told := asked(bench, what, filter={"hasIncident": True}, page=page_asked))["page"]["endCursor"]:
        found += told["items"]
        page_asked = {"limit": 100, "after": told["page"]["endCursor"]}
    monkeypatch.undo()
    assert found == asked(bench, what, filter={"hasIncident": True})["items"]


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        ("order-1", "order-*", True),
        ("order-1", "*-?", True),
        ("order-1", "order", False),
        ("a*b", "a\\*b", True),
        ("axb", "a\\*b", False),
        ("a.b", "a?b", True),
        ("ab", "a*b*b", False),
        ("abb", "a*b*b", True),
        ("\n", "?", True),
        ("x" * 50_000, "*a*a*a*a*b", False),
        ("", "*", True),
    ],
)
def test_patterns(value: str, pattern: str, expected: bool) -> None:
    assert is_like(value, pattern) is expected
