"""Lists of what a store holds: filters, pages that neither repeat nor leave out, and places that are no places."""

import re
from typing import Any

import pytest

from conjoin.errors import InputError
from conjoin.runtime.reading.lists import LISTS, ListQuery, list_page
from conjoin.runtime.reading.paging import cursor_of, positions_in
from tests.bpmn.snippets import BEGIN, END, catch, message, model
from tests.runtime.broker_bench import HOUR_MS, STOCK, Bench

STUCK = model(BEGIN + catch("stuck") + END, "begin>stuck stuck>end", message("paid_message", "paid", "=missing"))


@pytest.fixture(params=[1, 3])
def bench(request: pytest.FixtureRequest) -> Bench:
    """Two orders, of which one has its money; three messages; a ticket; an incident."""
    bench = Bench(request.param)
    bench.deploy()
    bench.deploy(STOCK, name="stock.bpmn")
    bench.start(business_id="b-1")
    bench.start("stock", {"orderId": "o-2"})
    bench.wait_ms(1_000)
    bench.publish(ttl_ms=HOUR_MS, message_id="first")
    bench.publish(key="o-3", ttl_ms=HOUR_MS)
    bench.wait_ms(1_000)
    bench.publish("opened", "t-1")
    return bench


def listed(bench: Bench, what: str, **filters: Any) -> list[Any]:
    return list_page(bench.broker, what, ListQuery(filters)).items


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, {"o-1", "o-3", "t-1"}),
        ({"name": "paid"}, {"o-1", "o-3"}),
        ({"key": "o-3"}, {"o-3"}),
        ({"verdict": "correlated"}, {"o-1", "t-1"}),
        ({"verdict": "correlated", "name": "paid"}, {"o-1"}),
        ({"reason": "nobody_waits"}, {"o-3"}),
        ({"state": "buffered"}, {"o-1", "o-3"}),
        ({"state": "none"}, {"t-1"}),
        ({"process": "order"}, {"o-1"}),
        ({"process": "stock"}, set()),
        ({"id": "first"}, {"o-1"}),
        ({"business_id": "b-7"}, set()),
        ({"tenant": "acme"}, set()),
    ],
)
def test_messages_are_filtered(bench: Bench, filters: dict[str, Any], found: set[str]) -> None:
    assert {item.correlation_key for item in listed(bench, "messages", **filters)} == found


def test_messages_are_found_by_who_took_them(bench: Bench) -> None:
    [order] = listed(bench, "instances", process="order")
    [taken] = listed(bench, "messages", instance=order.key)
    assert [(it.outcome, it.instance, it.element) for it in taken.attempts] == [("taken", order.key, "paid")]


def test_messages_are_filtered_by_when_they_were_published(bench: Bench) -> None:
    now = bench.clock()
    for since, until, count in ((now, None, 1), (None, now, 2), (now - 1_000_000, now, 2), (now + 1, None, 0)):
        assert len(list_page(bench.broker, "messages", ListQuery({}, since, until)).items) == count


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"state": "open"}, {"o-2"}),
        ({"state": "closed"}, {"o-1"}),
        ({"name": "paid"}, {"o-1", "o-2"}),
        ({"process": "stock"}, {"o-2"}),
        ({"element": "paid", "key": "o-2"}, {"o-2"}),
        ({"business_id": "b-1"}, {"o-1"}),
    ],
)
def test_subscriptions_are_filtered(bench: Bench, filters: dict[str, Any], found: set[str]) -> None:
    assert {item.correlation_key for item in listed(bench, "subscriptions", **filters)} == found


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"state": "active"}, {"order", "stock", "ticket", "stock-ticket"}),
        ({"state": "completed"}, set()),
        ({"process": "order", "version": 1}, {"order"}),
        ({"business_id": "b-1"}, {"order"}),
        ({"incidents": True}, set()),
        ({"tenant": "acme"}, set()),
    ],
)
def test_instances_are_filtered(bench: Bench, filters: dict[str, Any], found: set[str]) -> None:
    assert {item.process_id for item in listed(bench, "instances", **filters)} == found


def test_ended_instances_are_listed_with_their_end(bench: Bench) -> None:
    [order] = listed(bench, "instances", process="order")
    bench.broker.cancel_instance(order.key)
    [ended] = listed(bench, "instances", state="terminated")
    assert (ended.key, ended.started_at, ended.ended_at) == (order.key, order.started_at, bench.clock())


def test_incidents_are_listed_with_their_process(bench: Bench) -> None:
    bench.deploy(STUCK, name="stuck.bpmn")
    stuck = bench.start()
    [incident] = listed(bench, "incidents")
    assert (incident.process_id, incident.instance_key, incident.element_id) == ("order", stuck, "stuck")
    assert incident.error_type == "EXTRACT_VALUE_ERROR"
    for filters in (
        {"process": "order"},
        {"instance": stuck},
        {"type": "EXTRACT_VALUE_ERROR"},
        {"tenant": "<default>"},
    ):
        assert listed(bench, "incidents", **filters) == [incident]
    for filters in ({"process": "stock"}, {"instance": 7}, {"type": "JOB_NO_RETRIES"}, {"tenant": "acme"}):
        assert listed(bench, "incidents", **filters) == []
    [instance] = listed(bench, "instances", incidents=True)
    assert instance.key == stuck


def test_jobs_are_listed_with_who_has_them(bench: Bench) -> None:
    assert {(job.type, job.process_id) for job in listed(bench, "jobs", state="ready")} == {
        *(("ship", "order"), ("work", "ticket"), ("work", "stock-ticket")),
    }
    bench.broker.activate_jobs("ship", 1, "w-1", 60_000)
    [job] = listed(bench, "jobs", worker="w-1")
    assert (job.state, job.type, job.due_at) == ("activated", "ship", bench.clock() + 60_000_000)
    assert listed(bench, "jobs", process="order") == [job]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_pages_give_every_row_once_whatever_is_published_meanwhile(bench: Bench, limit: int) -> None:
    for number in range(9):
        bench.publish(key=f"key {number}", ttl_ms=HOUR_MS)
    expected = {item.key for item in list_page(bench.broker, "messages", ListQuery(limit=1_000)).items}
    seen: list[int] = []
    asked = ListQuery(limit=limit)
    while True:
        page = list_page(bench.broker, "messages", asked)
        assert len(page.items) <= limit
        seen += [item.key for item in page.items]
        if page.after is None:
            break
        bench.publish(key=f"later {len(seen)}", ttl_ms=HOUR_MS) if len(seen) < 6 else None
        asked = ListQuery(limit=limit, after=page.after)
    assert len(seen) == len(set(seen))
    assert expected <= set(seen)


def test_the_last_page_says_so_even_when_it_is_full(bench: Bench) -> None:
    assert list_page(bench.broker, "messages", ListQuery(limit=3)).after is None
    assert list_page(bench.broker, "messages", ListQuery(limit=2)).after is not None


def test_pages_of_a_filter_that_lets_few_pass_go_on_behind_them(bench: Bench) -> None:
    for number in range(8):
        bench.publish(key=f"key {number}", ttl_ms=HOUR_MS)
    first = list_page(bench.broker, "messages", ListQuery({"state": "none"}, limit=1))
    assert [item.correlation_key for item in first.items] == ["t-1"]
    assert first.after is None
    both = list_page(bench.broker, "messages", ListQuery({"verdict": "correlated"}, limit=1))
    rest = list_page(bench.broker, "messages", ListQuery({"verdict": "correlated"}, limit=1, after=both.after))
    assert {item.correlation_key for item in (*both.items, *rest.items)} == {"o-1", "t-1"}


def test_subscriptions_are_paged_by_a_key_of_three_parts(bench: Bench) -> None:
    bench.start(variables={"orderId": 'o "4"'})
    seen = []
    after = None
    for _ in range(3):
        page = list_page(bench.broker, "subscriptions", ListQuery(limit=1, after=after))
        seen += [item.correlation_key for item in page.items]
        after = page.after
    assert sorted(seen) == ['o "4"', "o-1", "o-2"]
    assert after is None


@pytest.mark.parametrize("cursor", ["", "nonsense", "WyJqb2IiLDFd", "WyJtZXNzYWdlIiwiMSJd", "bnVsbA", "ä"])
def test_what_is_no_cursor_of_the_list_is_refused(bench: Bench, cursor: str) -> None:
    with pytest.raises(InputError, match="is no cursor of this list"):
        list_page(bench.broker, "messages", ListQuery(after=cursor))


def test_all_that_is_wrong_with_filters_is_said_at_once(bench: Bench) -> None:
    with pytest.raises(InputError) as raised:
        list_page(bench.broker, "incidents", ListQuery({"colour": "red", "name": "paid"}, since=0))
    assert raised.value.problems == [
        "incidents have no filter 'colour'",
        "incidents have no filter 'name'",
        "incidents have no time to compare with since and until",
    ]


@pytest.mark.parametrize(("what", "name"), [(what, name) for what, it in LISTS.items() for name in it.choices])
def test_a_value_that_a_filter_cannot_have_is_named(bench: Bench, what: str, name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: 'buffred' is none of "):
        list_page(bench.broker, what, ListQuery({name: "buffred"}))


def test_list_from_the_newest_has_the_same_pages_the_other_way_round(bench: Bench) -> None:
    forward = listed(bench, "messages")
    backward, after = [], None
    while True:
        page = list_page(bench.broker, "messages", ListQuery(limit=2, after=after, newest_first=True))
        backward += page.items
        after = page.after
        if after is None:
            break
    assert backward == forward[::-1]


@pytest.mark.parametrize("what", ["messages", "subscriptions"])
@pytest.mark.parametrize("newest_first", [False, True])
def test_cursor_at_the_ends_of_all_keys_finds_everything_or_nothing(
    bench: Bench, what: str, newest_first: bool
) -> None:
    which = f"{LISTS[what].table.name}{' backward' if newest_first else ''}"
    texts = ("", "") if what == "subscriptions" else ()
    counts = []
    for key, number in ((2**63 - 1, 1), (2**63 - 1, -1), (-(2**63) + 1, 1), (-(2**63) + 1, -1)):
        after = cursor_of(which, (*texts, key, number))
        counts.append(len(list_page(bench.broker, what, ListQuery(after=after, newest_first=newest_first)).items))
    assert set(counts) <= {0, len(listed(bench, what))}


def test_a_cursor_is_base64_as_the_clients_of_camunda_8_check_it() -> None:
    checked = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
    for length in range(12):
        cursor = cursor_of("list", ("~?" * length, 1))
        assert checked.fullmatch(cursor)
        assert positions_in(cursor.replace("+", " "), "list", (str, int)) == [("~?" * length, 1)]
