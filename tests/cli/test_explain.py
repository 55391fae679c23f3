"""conjoin message explain: the sentence and what it is made of, as text and JSON; a dry run of what was not sent."""

import json
from contextlib import closing

from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.opening import open_broker
from conjoin.runtime.run.batches import Batch
from conjoin.testing.clock import FakeClock
from tests.cli.command import Command

NOON = "2030-01-01T00:00:00Z"
HOUR_MS = 3_600_000
LATER = "2030-01-01T01:00:00Z"


def test_explain_says_what_became_of_a_message_and_who_took_it(shop: Command) -> None:
    order = shop.order()
    key = shop.json("publish paid --key o-1 --id p-1")["key"]
    assert shop.tells(f"explain {key}").splitlines() == [
        f"Correlated: process order (instance {order} at paid) was already waiting for 'paid' with key 'o-1'.",
        f"  message {key}, id p-1, published at {NOON}",
        f"  decided at {NOON}: correlated, waiting_instance",
        f"  taken by instance {order} of process order at paid, {NOON}",
    ]


def test_explain_names_the_nearest_in_the_sentence_and_the_others_below(shop: Command) -> None:
    near, other = shop.order("O-1"), shop.order("o_1")
    shop.order("x-9")
    key = shop.json("publish paid --key o-1 --ttl 1h")["key"]
    said = shop.tells(f"explain {key}").splitlines()
    assert said[0] == (
        f"Buffered: nobody waits for 'paid' with key 'o-1' yet; it is kept until {LATER}; process order "
        f"(instance {near} at paid) waits for it with key 'O-1' - the key differs in case or blanks only."
    )
    assert said[-1] == (
        f"  also: process order (instance {other} at paid) waits for it with key 'o_1' - "
        "the key differs in punctuation only"
    )


def test_explain_as_json_has_everything_and_keys_as_text(shop: Command) -> None:
    order = shop.order("O-1")
    key = shop.json("publish paid --key o-1 --ttl 1h")["key"]
    said = shop.json(f"explain {key}")
    assert (said["message"]["key"], said["verdict"], said["reason"]) == (key, "buffered", "nobody_waits")
    assert (said["message"]["deadline_at"], said["storage"], said["attempts"]) == (LATER, "buffered", [])
    [miss] = said["near_misses"]
    assert (miss["kind"], miss["instance"], miss["differs"]) == ("other_key", order, "case or blanks only")
    assert miss["text"] in said["sentence"]


def test_dry_run_says_what_would_happen_and_sends_nothing(shop: Command) -> None:
    order = shop.order()
    before = shop.json("status")
    said = shop.tells("explain --name paid --key o-1").splitlines()
    assert said == [
        f"If it were published now, it would be correlated: process order (instance {order} at paid) "
        "was already waiting for 'paid' with key 'o-1'.",
        f"  taken by instance {order} of process order at paid, {NOON}",
        "No message with this name and key is known.",
    ]
    assert shop.json("status") == before


def test_dry_run_takes_what_publish_takes(shop: Command) -> None:
    options = "--tenant acme --business-id b-1 --id p-1 --ttl 1h --variables '{\"amount\": 3}'"
    said = shop.json(f"explain --name paid --key o-1 {options}")["dry_run"]
    assert (said["verdict"], said["reason"]) == ("buffered", "nobody_waits")
    told = said["message"]
    assert (told["tenant_id"], told["business_id"], told["message_id"]) == ("acme", "b-1", "p-1")
    assert (told["deadline_at"], told["variables"], told["key"]) == (LATER, {"amount": 3}, None)


def test_messages_that_were_refused_are_found_by_name_key_and_id(shop: Command, clock: FakeClock) -> None:
    first = shop.json("publish paid --key o-1 --ttl 1h --id p-1")["key"]
    clock.advance_ms(60_000)
    assert shop.refuses("publish paid --key o-1 --ttl 1h --id p-1").startswith("ALREADY_EXISTS: ")
    said = shop.json("explain --name paid --key o-1 --id p-1")
    assert [it["verdict"] for it in said["known"]] == ["refused", "buffered"]
    assert said["known"][0]["parameters"]["first_message"] == first
    assert said["known"][1]["message"]["key"] == first


def test_what_is_neither_a_key_nor_a_name_is_an_error(shop: Command) -> None:
    wrong = "explain takes the key of a message, or its --name and --key"
    assert shop.cannot("explain") == wrong
    assert shop.cannot("explain 7 --name paid") == wrong
    assert shop.refuses("explain 7") == "NOT_FOUND: no message with key 7 is known"


def test_explain_says_what_became_of_the_first_of_two_with_one_id(shop: Command) -> None:
    order = shop.order()
    first = shop.json("publish paid --key o-1 --ttl 1h --id p-1")["key"]
    shop.refuses("publish paid --key o-1 --ttl 1h --id p-1")
    said = shop.json("explain --name paid --key o-1 --id p-1")["known"][0]
    [related] = said["related"]
    assert (related["relation"], related["message"], related["verdict"]) == ("first", first, "correlated")
    lines = shop.tells("explain --name paid --key o-1 --id p-1").splitlines()
    assert f"  the first, message {first}: {related['sentence']}" in lines
    assert f"process order (instance {order} at paid) was already waiting" in related["sentence"]


def test_where_nobody_is_near_explain_says_who_ever_waits_for_the_name(shop: Command) -> None:
    shop.order("o-1")
    lines = shop.tells("explain --name paid --key o-2").splitlines()
    assert "  'paid' is awaited by process order at paid (version 1)" in lines
    assert shop.json("explain --name paid --key o-2")["dry_run"]["near_misses"] == []
    shop.json("publish paid --key o-1")
    lines = shop.tells("explain --name paid --key O-1").splitlines()
    assert any(
        line.startswith("  the last to wait for it with a similar key, 'o-1', was process order") for line in lines
    )


def test_a_dead_letter_is_explained_by_its_reason_and_by_who_waits_for_what_it_meant(shop: Command) -> None:
    order = shop.order("o-1")
    letter = DeadLetter(
        "orders.jsonl", "", 5, "bad_ttl", "ttl: 'soon' is not a duration", b'{"name": "paid", "key": "O-1"}'
    )
    other = letter._replace(position=6, raw=b"no JSON")
    with closing(open_broker("conjoin-data")) as broker:
        broker.post.run(0, Batch([letter, other]))
    listed = [json.loads(line) for line in shop.tells("dead-letters --json").splitlines()]
    keys = {it["position"]: it["key"] for it in listed if "position" in it}
    said = shop.tells(f"explain --dead-letter {keys[5]}").splitlines()
    assert said[0] == (
        "Dead letter: row 5 of orders.jsonl never became a message: bad_ttl, ttl: 'soon' is not a duration."
    )
    assert f"process order (instance {order} at paid) waits for it with key 'o-1'" in said[1]
    assert shop.json(f"explain --dead-letter {keys[6]}")["dry_run"] is None
    assert shop.refuses("explain --dead-letter 99") == "NOT_FOUND: no dead letter with key 99 is known"


def test_what_was_near_after_a_publish_is_kept_and_what_is_near_now_stands_apart(
    shop: Command, clock: FakeClock
) -> None:
    near = shop.order("O-1")
    key = shop.json("publish paid --key o-1")["key"]
    at_once = shop.json(f"explain {key}")
    assert (at_once["was_kept"], at_once["seen_at"], at_once["near_now"]) == (True, NOON, None)
    clock.advance_ms(HOUR_MS)
    later = shop.order("o-1")
    said = shop.tells(f"explain {key}").splitlines()
    assert f"instance {near} at paid" in said[0]
    assert said[-2] == f"  that was near at {NOON}"
    assert said[-1].startswith(f"  near now, {LATER}: ")
    assert f"instance {later}" in said[-1]
    told = shop.json(f"explain {key}")
    assert [it["kind"] for it in told["near_misses"]] == ["other_key"]
    assert told["near_now"]["looked_at"] == LATER
    assert told["near_now"]["near_misses"][0]["kind"] == "expired_before"


def test_a_message_sent_in_place_of_another_is_linked_to_it_and_leaves_the_list(shop: Command) -> None:
    shop.order("o-1")
    lost, other = shop.json("publish paid --key O-1")["key"], shop.json("publish paid --key o-2")["key"]
    again = shop.json(f"publish paid --key o-1 --replaces {lost}")["key"]
    assert f"  sent again as message {again}: Correlated: " in shop.tells(f"explain {lost}")
    assert f"  sent in place of message {lost}: Discarded: " in shop.tells(f"explain {again}")

    def listed(filters: str) -> list[str]:
        return [json.loads(line)["key"] for line in shop.tells(f"message list {filters} --json").splitlines()]

    assert listed("--verdict discarded") == [other]
    assert listed("--verdict discarded --replaced") == [lost]


def test_what_cannot_be_replaced_is_refused_before_anything_is_sent(shop: Command) -> None:
    shop.order("o-1")
    taken = shop.json("publish paid --key o-1")["key"]
    assert "is not lost: it is correlated" in shop.refuses(f"publish paid --key o-2 --replaces {taken}")
    assert "no message with key 7 is known" in shop.refuses("publish paid --key o-2 --replaces 7")
    lost = shop.json("publish paid --key o-9")["key"]
    assert "another tenant" in shop.refuses(f"publish paid --key o-2 --tenant acme --replaces {lost}")
    assert "--file" in shop.cannot("publish --file - --replaces 7")
    assert shop.json("explain --name paid --key o-2")["known"] == []
