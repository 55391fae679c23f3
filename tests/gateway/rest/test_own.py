"""Our own interface: lists, explanations, publishing with a result, policies, status."""

import pytest

from tests.gateway.rest.conftest import Rest, RestThread

OWN = "/conjoin/v1"


def test_publish_with_result_says_who_took_it(rest: Rest) -> None:
    instance = rest.create("order", {"orderId": "result"})
    told = rest.call("POST", f"{OWN}/messages", {"name": "paid", "key": "result", "wait_ms": 5_000})
    assert (told["verdict"], told["reason"]) == ("correlated", "waiting_instance")
    assert [it["instance"] for it in told["attempts"]] == [instance]
    kept = rest.call("POST", f"{OWN}/messages", {"name": "paid", "key": "nobody", "ttl": "1h", "wait_ms": 20})
    assert (kept["verdict"], kept["storage"]) == ("buffered", "buffered")
    assert rest.call("GET", f"{OWN}/messages/{kept['message']['key']}")["sentence"] == kept["sentence"]


def test_publish_with_result_refuses_what_is_no_message(rest: Rest) -> None:
    path = f"{OWN}/messages"
    assert rest.problem("POST", path, {"name": "paid", "keys": "x"})[1].startswith("keys: there is no such field")
    assert rest.problem("POST", path, {"name": "paid", "wait_ms": 10**9})[0] == 400
    assert rest.problem("POST", path, {"name": "paid", "ttl": "soon"})[0] == 400
    assert rest.problem("POST", path, {"key": "x"})[1] == "The message has no message name"
    assert rest.problem("POST", path, {"name": "paid", "tenant": "a b"})[0] == 400


def test_messages_are_listed_in_pages_from_either_end(rest: Rest) -> None:
    for number in range(5):
        rest.call("POST", f"{OWN}/messages", {"name": "listed", "key": f"k-{number}", "ttl": "1h"})
    found, cursor = [], ""
    while True:
        told = rest.call("GET", f"{OWN}/messages?name=listed&limit=2&cursor={cursor}")
        found += told["items"]
        cursor = told["cursor"]
        if cursor is None:
            break
    assert {it["correlation_key"] for it in found} == {f"k-{number}" for number in range(5)}
    newest, cursor = [], ""
    while cursor is not None:
        told = rest.call("GET", f"{OWN}/messages?name=listed&order=desc&limit=2&cursor={cursor}")
        newest, cursor = newest + told["items"], told["cursor"]
    # Whichever shards they are on.
    assert [it["correlation_key"] for it in newest] == [f"k-{number}" for number in reversed(range(5))]
    since = found[2]["published_at"]
    later = rest.call("GET", f"{OWN}/messages?name=listed&since={since}")["items"]
    assert later == [it for it in found if it["published_at"] >= since]


def test_instances_and_what_belongs_to_them_are_listed_by_their_filters(rest: Rest) -> None:
    instance = rest.create("order", {"orderId": "to-list"})
    [it] = rest.call("GET", f"{OWN}/instances?process=order&state=active&instance={instance}&incidents=false")["items"]
    assert (it["key"], it["version"], it["started"], it["incidents"]) == (instance, 1, "command", 0)
    assert rest.call("GET", f"{OWN}/instances?instance={instance}&incidents=true")["items"] == []
    [wait] = rest.call("GET", f"{OWN}/subscriptions?key=to-list&state=open")["items"]
    assert (wait["instance_key"], wait["name"]) == (instance, "paid")
    rest.call("POST", f"{OWN}/messages", {"name": "paid", "key": "to-list"})
    [job] = rest.call("GET", f"{OWN}/jobs?instance={instance}")["items"]
    assert (job["type"], job["process_id"], job["instance_key"]) == ("ship", "order", instance)
    assert rest.call("GET", f"{OWN}/incidents?instance={instance}")["items"] == []
    for query in ("instances?incidents=perhaps", "instances?version=one", "jobs?state=asleep", "incidents?since=now"):
        assert rest.problem("GET", f"{OWN}/{query}")[0] == 400, query


def test_lists_refuse_what_they_do_not_know(rest: Rest) -> None:
    for query in (
        "nam=x",
        "verdict=lost",
        "limit=0",
        "limit=x",
        "limit=",
        "since=yesterday",
        "since=",
        "until=",
        "cursor=xx",
        "instance=x",
        "instance=",
        "order=up",
        "order=",
        "verdict=",
    ):
        assert rest.problem("GET", f"{OWN}/messages?{query}")[0] == 400, query
    assert rest.problem("GET", f"{OWN}/set-aside?kind=")[0] == 400
    rest.call("POST", f"{OWN}/messages", {"name": "any", "key": "k", "ttl": "1h"})
    assert rest.call("GET", f"{OWN}/messages?name=&cursor=&limit=1")["items"], "an empty text is no filter"


def test_explanation_of_what_was_sent_and_of_what_was_not(rest: Rest) -> None:
    rest.create("order", {"orderId": "other-key"})
    sent = rest.call("POST", f"{OWN}/messages", {"name": "paid", "key": "Other-Key", "ttl": "1h"})
    told = rest.call("GET", f"{OWN}/messages/{sent['message']['key']}/explain")
    assert told["verdict"] == "buffered"
    assert [it["kind"] for it in told["near_misses"]][:1] == ["other_key"]
    unsent = rest.call("POST", f"{OWN}/explain", {"name": "paid", "key": "other-key"})
    assert unsent["dry_run"]["verdict"] == "correlated"
    assert unsent["dry_run"]["sentence"].startswith("If it were published now")
    assert rest.problem("GET", f"{OWN}/messages/77/explain")[0] == 404
    assert rest.problem("GET", f"{OWN}/messages/x")[0] == 400
    assert rest.problem("POST", f"{OWN}/explain", [1])[0] == 400


def test_policies_are_set_by_name_and_listed_with_their_changes(rest: Rest) -> None:
    told = rest.call("PUT", f"{OWN}/policies/policed", {"time_to_live": "1h", "expected": 2})
    assert told["policy"] == {"time_to_live": "1h", "expected": 2}
    kept = rest.call("POST", f"{OWN}/messages", {"name": "policed", "key": "p"})
    assert kept["verdict"] == "buffered"
    listed = rest.call("GET", f"{OWN}/policies")
    assert listed["policies"]["policed"] == told["policy"]
    assert rest.problem("PUT", f"{OWN}/policies/policed", {"dedup": "sometimes"})[0] == 400
    assert rest.problem("PUT", f"{OWN}/policies/policed", {"nonsense": 1})[0] == 400


def test_status_counts_what_is_open(rest: Rest) -> None:
    before = rest.call("GET", f"{OWN}/status")
    rest.call("POST", f"{OWN}/messages", {"name": "counted", "key": "c", "ttl": "1h"})
    after = rest.call("GET", f"{OWN}/status")
    assert after["open"]["buffered_messages"] == before["open"]["buffered_messages"] + 1
    assert after["processes"]["order"] == 1


def test_shards_tell_how_far_they_are(rest: Rest, rest_server: RestThread) -> None:
    shards = rest.call("GET", f"{OWN}/shards")["items"]
    assert [it["shard"] for it in shards] == list(range(rest_server.service.broker.shard_count))
    assert all(it["logged"] == it["version"] and it["undelivered"] == 0 for it in shards)
    assert any(it["time"] for it in shards)


def test_a_published_message_is_no_error_whatever_its_key_is(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("²³", "9" * 5_000, "a" + "-" * 30_000, '"' * 300):
        told = rest.call("POST", f"{OWN}/messages", {"name": "paid", "key": key})
        assert told["verdict"] == "discarded"
        assert rest.call("GET", f"{OWN}/messages/{told['message']['key']}/explain")["near_misses"] == []

    def fails(*_: object) -> None:
        raise ValueError("a mistake of ours")

    monkeypatch.setattr("conjoin.runtime.explain.explain.all_misses", fails)
    assert rest.call("POST", f"{OWN}/messages", {"name": "paid", "key": "x"})["verdict"] == "discarded"
