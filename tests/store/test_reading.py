"""Readings that end: statements are broken off in the middle, by the clock or by whoever gave up waiting."""

import time
from collections.abc import Iterator
from threading import Thread, Timer
from typing import Any

import pytest

from conjoin.errors import ReadStopped
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.reading.lists import ListQuery, list_page
from conjoin.runtime.reading.paging import Scan, next_at_once
from conjoin.store import create_store
from conjoin.store import tables as t
from conjoin.store.port import Facts, Meets, RowOrder, Store
from conjoin.store.reading import Reading, at_most, current, reading
from conjoin.store.sqlite.files import connect

_ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
_HOUR_S = 3_600.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    made = temporary_broker(2)
    for number in range(300):
        made.publish(NewMessage("kept", f"k-{number}", {}, 3_600_000))
    yield made
    made.close()


def endless(broker: Broker) -> None:
    from conjoin.store.sqlite.files import translated_errors

    file = broker.store.shard(0).file  # type: ignore[attr-defined]
    with translated_errors(file):
        connect(file).execute(_ENDLESS).fetchall()


def test_statement_that_never_ends_is_over_at_the_deadline(broker: Broker) -> None:
    with reading(Reading(0.1)), pytest.raises(ReadStopped, match=r"more than 0\.1 s"):
        endless(broker)
    assert current() is None


def test_statement_that_never_ends_is_over_when_nobody_waits_any_more(broker: Broker) -> None:
    its = Reading(_HOUR_S)
    stopped: list[str] = []

    def read() -> None:
        with reading(its):
            try:
                endless(broker)
            except ReadStopped as error:
                stopped.append(str(error))

    thread = Thread(target=read, daemon=True)
    thread.start()
    its.cancel()
    thread.join(30)
    assert not thread.is_alive()
    assert "nobody waits" in stopped[0]


def test_part_of_a_reading_may_have_less_time_than_all_of_it(broker: Broker) -> None:
    with reading(Reading(_HOUR_S)):
        with pytest.raises(ReadStopped), at_most(0.05):
            endless(broker)
        assert list_page(broker, "messages", ListQuery(limit=5)).items


def test_reading_that_was_given_up_before_it_began_reads_nothing(broker: Broker) -> None:
    its = Reading(_HOUR_S)
    its.cancel()
    with reading(its), pytest.raises(ReadStopped):
        list_page(broker, "messages", ListQuery())


@pytest.mark.parametrize("backward", [False, True])
def test_ranges_find_what_one_statement_finds(broker: Broker, backward: bool) -> None:
    where = {"correlation_key": Meets((("like", "*7*"),))}
    order = RowOrder(backward=backward)
    scan = Scan(broker.store, t.MESSAGE, where, lambda rows: [(row, (row,)) for row in rows], order, 10)
    with reading(Reading(_HOUR_S)):
        steps = list(scan.steps())
    assert any(step.item is None for step in steps)
    found = [step.item.key for step in steps if step.item is not None]
    wanted = [row.key for row in broker.store.rows(t.MESSAGE, where, None, 1_000)]
    assert found == (wanted[::-1] if backward else wanted)
    assert len(wanted) > 20


def test_list_whose_time_is_up_says_how_far_it_came_and_goes_on_there(broker: Broker) -> None:
    asked = ListQuery({"process": "nobody"}, limit=5)
    with reading(Reading(_HOUR_S, late_after_s=0.0)):
        page = list_page(broker, "messages", asked)
        assert page.is_cut
        assert page.after is not None
        pages = 1
        while page.after is not None:
            page = list_page(broker, "messages", ListQuery(asked.filters, limit=5, after=page.after))
            pages += 1
            assert page.items == []
    assert not page.is_cut
    assert pages < 1_000


def test_pages_that_were_cut_have_every_row_once(broker: Broker) -> None:
    found: list[int] = []
    after = None
    with reading(Reading(_HOUR_S, late_after_s=0.0)):
        while True:
            page = list_page(broker, "messages", ListQuery({"name": "kept", "state": "buffered"}, limit=7, after=after))
            found += [item.key for item in page.items]
            after = page.after
            if after is None:
                break
    assert len(found) == len(set(found)) == 300


def test_without_a_reading_everything_takes_the_time_it_takes(broker: Broker) -> None:
    began = time.monotonic()
    with at_most(0.0):
        assert len(list_page(broker, "messages", ListQuery({"state": "buffered"}, limit=1_000)).items) == 300
    assert time.monotonic() >= began


def test_rows_are_read_as_many_at_a_time_as_they_are_small() -> None:
    small, large = [("x" * 100,)] * 20, [("x" * 4_000_000,)] * 20
    assert next_at_once(small, 20, 500) == 80
    assert next_at_once(small, 400, 500) == 500
    assert next_at_once(large, 20, 500) == 2
    assert next_at_once([], 20, 500) == 80


@pytest.fixture
def postgres(postgres_server: Any) -> Iterator[Store]:
    url = postgres_server.new_database()
    store = create_store(url, Facts(1, "zeebe", 0, unique_business_ids=False))
    yield store
    store.close()
    postgres_server.drop_database(url)


def test_postgresql_ends_a_statement_at_the_deadline_and_when_nobody_waits(postgres: Any) -> None:
    asleep = ("select pg_sleep(600)", [])
    with reading(Reading(0.2)), pytest.raises(ReadStopped, match=r"more than 0\.2 s"):
        postgres._asked(*asleep)
    its = Reading(_HOUR_S)
    timer = Timer(0.2, its.cancel)
    timer.start()
    with reading(its), pytest.raises(ReadStopped, match="nobody waits"):
        postgres._asked(*asleep)
    with reading(Reading(_HOUR_S)):
        assert postgres.count(t.MESSAGE, {}, 10) == 0
