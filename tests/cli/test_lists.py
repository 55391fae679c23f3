"""conjoin messages, subscriptions, instances, incidents, jobs: tables for people, lines of JSON for programs."""

import json
from typing import Any

import pytest

from conjoin.testing.clock import FakeClock
from tests.cli.command import Command


def lines(shop: Command, line: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in shop.tells(f"{line} --json").splitlines()]


def test_messages_are_a_table_with_verdicts(shop: Command) -> None:
    order = shop.order()
    taken = shop.json("publish paid --key o-1")["key"]
    header, row = shop.tells("messages list").splitlines()
    assert " ".join(header.split()) == "key name correlation key published at verdict reason attempts"
    told = f"{taken} paid o-1 2030-01-01T00:00:00Z correlated waiting_instance order {order} taken"
    assert " ".join(row.split()) == told
    assert header.index("verdict") == row.index("correlated")


def test_lists_are_filtered_and_printed_one_object_a_line(shop: Command) -> None:
    order = shop.order()
    shop.order("o-2")
    shop.tells("publish paid --key o-1")
    shop.tells("publish paid --key o-3 --ttl 1h")
    assert [it["correlation_key"] for it in lines(shop, "messages list --verdict buffered")] == ["o-3"]
    assert [it["correlation_key"] for it in lines(shop, f"messages list --instance {order}")] == ["o-1"]
    assert [it["correlation_key"] for it in lines(shop, "subscriptions list --state open")] == ["o-2"]
    assert [it["state"] for it in lines(shop, "instances list --process order")] == ["active", "active"]
    [job] = lines(shop, "jobs list --type ship --state ready")
    assert job["instance_key"] == order
    assert lines(shop, "incidents list") == []


def test_incidents_are_listed_with_what_went_wrong(shop: Command) -> None:
    order = shop.order()
    shop.tells("publish paid --key o-1")
    job = shop.job("ship")
    shop.tells(f"fail {job} --retries 0 --errorMessage 'no\nstock'")
    [incident] = lines(shop, f"incidents list --instance {order} --type JOB_NO_RETRIES")
    assert (incident["job_key"], incident["process_id"], incident["text"]) == (job, "order", "no\nstock")
    assert len(shop.tells("incidents list").splitlines()) == 2
    assert [it["key"] for it in lines(shop, "instances list --incidents")] == [order]


@pytest.mark.parametrize("what", ["messages", "subscriptions", "instances", "incidents", "jobs"])
def test_an_empty_list_says_so_to_people_and_nothing_to_programs(shop: Command, what: str) -> None:
    assert shop.tells(f"{what} list") == f"no {what}"
    assert shop.tells(f"{what} list --json") == ""


def test_pages_go_on_after_the_cursor(shop: Command) -> None:
    keys = {shop.json(f"publish paid --key o-{number} --ttl 1h")["key"] for number in range(3)}
    *first, more = lines(shop, "messages list --limit 2")
    assert set(more) == {"after"}
    rest = lines(shop, f"messages list --limit 2 --after {more['after']}")
    assert {it["key"] for it in (*first, *rest)} == keys
    assert shop.tells("messages list --limit 2").splitlines()[-1] == f"more: --after {more['after']}"
    assert shop.cannot("jobs list --after " + more["after"]).endswith("take the one that the page before gave")


def test_since_takes_an_instant_a_day_and_how_long_ago(shop: Command, clock: FakeClock) -> None:
    shop.tells("publish paid --key o-1 --ttl 1d")
    clock.advance_ms(3_600_000)
    shop.tells("publish paid --key o-2 --ttl 1d")
    for since, count in (("30m", 1), ("2h", 2), ("2030-01-01", 2), ("2030-01-01T00:30:00Z", 1), ("2030-01-02", 0)):
        assert len(lines(shop, f"messages list --since {since}")) == count
    assert len(lines(shop, "messages list --until 30m")) == 1
    assert shop.cannot("messages list --since yesterday") == (
        "--since: 'yesterday' is not an instant such as 2026-01-31T08:00:00Z, a day, or a duration such as 1h"
    )


def test_a_slip_of_the_pen_does_not_look_like_an_empty_list(shop: Command) -> None:
    assert shop.cannot("messages list --verdict buffred").startswith("verdict: 'buffred' is none of correlated, ")


def test_one_message_is_shown_with_its_variables(shop: Command) -> None:
    key = shop.json("publish paid --key o-1 --ttl 1h --variables '{\"price\": 9.90}'")["key"]
    said = shop.tells(f"messages show {key}").splitlines()
    assert said[0].startswith("Buffered: nobody waits for 'paid' with key 'o-1' yet")
    assert said[-1] == '  variables {"price":9.90}'
    assert shop.json(f"messages show {key}")["message"]["variables"] == {"price": 9.9}
    assert shop.refuses("messages show 7") == "NOT_FOUND: no message with key 7 is known"
