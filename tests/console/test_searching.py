"""Searches: newest first, each match once, and no word of nothing before everything was looked at."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from conjoin.errors import InputError
from conjoin.gateway.queries import store as queries
from conjoin.gateway.queries.store import Wanted
from conjoin.gateway.queries.variable_tests import possible_rows, read_variable_test
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.reading import paging
from conjoin.runtime.reading.lists import ListQuery, list_page
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock
from tests.testing.order import ORDER


@pytest.fixture(scope="module")
def told() -> Iterator[Broker]:
    """Two hundred messages over two shards, few of each kind, and time between them."""
    clock, chance = FakeClock(), random.Random(7)
    broker = temporary_broker(2, clock)
    broker.deploy([("order.bpmn", ORDER)])
    for number in range(200):
        clock.advance_ms(1_000 * chance.randint(0, 3))
        name, ttl = chance.choice(["paid", "paid", "opened", "rare"]), chance.choice([0, 0, 10**9])
        variables = {"amount": number % 10, "who": {"name": f"n-{number % 7}"}}
        broker.publish(NewMessage(name, f"o-{number % 50}", variables, ttl))
    yield broker
    broker.close()


def pages(broker: Broker, wanted: Wanted) -> Iterator[dict[str, Any]]:
    while True:
        page = queries.page(broker, "messages", wanted)
        yield page
        if page["cursor"] is None:
            return
        wanted = wanted._replace(cursor=page["cursor"])


@pytest.mark.parametrize("within_s", [0.0, 60.0])
@pytest.mark.parametrize(
    "filters",
    [{}, {"name": "rare"}, {"key": "o-7"}, {"verdict": "discarded"}, {"state": "buffered"}, {"reason": "ttl_zero"}],
)
def test_search_that_is_cut_short_finds_each_match_once_and_in_order(
    told: Broker, monkeypatch: pytest.MonkeyPatch, within_s: float, filters: dict[str, str]
) -> None:
    for name in ("FIRST_RANGE", "LATER_RANGE"):
        monkeypatch.setattr(paging, name, 40)
    found, cut = [], 0
    for page in pages(told, Wanted(filters, limit=7, within_s=within_s)):
        younger = [item["published_at"] for item in page["items"]]
        assert not page["is_cut"] or all(at >= page["looked_to"] for at in younger)
        found += page["items"]
        cut += page["is_cut"]
    expected = list_page(told, "messages", ListQuery(filters, limit=1_000)).items
    assert sorted(int(item["key"]) for item in found) == sorted(item.key for item in expected)
    assert [item["published_at"] for item in found] == sorted((it["published_at"] for it in found), reverse=True)
    assert bool(cut) == (within_s == 0.0)


def test_time_ends_a_search_where_older_messages_begin(told: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    since = told.now - 20_000_000
    asked: list[Any] = []
    rows = told.store.rows

    def counting(table: Any, where: Any, *more: Any) -> Any:
        asked.append(where)
        return rows(table, where, *more)

    monkeypatch.setattr(told.store, "rows", counting)
    page = queries.page(told, "messages", Wanted({"name": "never"}, since))
    assert (page["items"], page["cursor"], page["is_cut"]) == ([], None, False)
    monkeypatch.undo()
    expected = [it.key for it in list_page(told, "messages", ListQuery({}, since, limit=1_000)).items]
    assert sorted(int(it["key"]) for it in queries.page(told, "messages", Wanted({}, since))["items"]) == expected
    assert len(asked) < 10


@pytest.mark.parametrize("cursor", ["", "7", "a.b", "1.2.3", "-1.2", "9" * 40 + ".1"])
def test_what_is_no_cursor_of_a_list_is_refused(told: Broker, cursor: str) -> None:
    with pytest.raises(InputError, match="no cursor of this list"):
        queries.page(told, "messages", Wanted({}, cursor=cursor))


def test_messages_are_found_by_a_variable(told: Broker) -> None:
    rows = {str(row.key): read_json(row.variables) for row in told.store.rows(t.MESSAGE, {}, None, 1_000)}
    for text, is_it in (
        ("amount = 4", lambda it: it["amount"] == 4),
        ("variables.who.name == n-3", lambda it: it["who"]["name"] == "n-3"),
        ('who = {"name": "n-3"}', lambda it: it["who"]["name"] == "n-3"),
        ("amount = 40", lambda it: False),
    ):
        found = [item["key"] for page in pages(told, Wanted({"variables": text})) for item in page["items"]]
        assert sorted(found) == sorted(key for key, variables in rows.items() if is_it(variables)), text


@pytest.mark.parametrize(
    ("text", "variables", "passes"),
    [
        ("a = 40", '{"a":40.0}', True),
        ("a = 40", '{"a":4e1}', True),
        ("a = 40.50", '{"a":40.5}', True),
        ("a = -0.5", '{"a":-5E-1}', True),
        ("a = 0", '{"a":0.0}', True),
        ("a = 40", '{"a":"40"}', False),
        ('a = "40"', '{"a":"40"}', True),
        ("a = 1", '{"a":true}', False),
        ("a = [1, true]", '{"a":[1,1]}', False),
        ("a = [1, true]", '{"a":[1.0,true]}', True),
        ("a = null", "{}", False),
        ("a = null", '{"a":null}', True),
        ("a.b = x*?", '{"a":{"b":"x*?"}}', True),
        ("a.b = x", '{"a.b":"x"}', True),
        ("a.b = x", '{"a":[{"b":"x"}]}', False),
        ('a = "\\u00e9\\"\\\\"', json_text({"a": 'é"\\'}), True),
    ],
)
def test_variables_are_equal_as_json_is_and_the_store_leaves_no_match_out(
    told: Broker, text: str, variables: str, passes: bool
) -> None:
    wanted = read_variable_test(text)
    assert wanted.passes(read_json(variables)) == passes
    stored = json_text(read_json(variables))
    [row] = told.store.rows(t.MESSAGE, {}, None, 1)
    store = temporary_broker(1)
    put(store, row._replace(variables=stored))
    assert not passes or list(store.store.rows(t.MESSAGE, possible_rows(wanted), None, 9))
    store.close()


def put(broker: Broker, row: Any) -> None:
    snapshot = broker.store.shard(0).begin()
    head = snapshot.head
    snapshot.abandon()
    broker.store.shard(0).load(head._replace(version=1), {t.MESSAGE: [row]})


@pytest.mark.parametrize("text", ["amount", "= 4", "amount =", ".a = 1", "a..b = 1"])
def test_what_is_no_test_of_a_variable_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no test such as"):
        read_variable_test(text)
