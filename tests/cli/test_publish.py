"""conjoin message publish: what became of the message is said at once, or waited for."""

from pathlib import Path

import pytest

from conjoin.testing.clock import FakeClock
from tests.cli.command import Command


def test_message_that_nobody_takes_says_why_and_what_came_near(shop: Command) -> None:
    instance = shop.order()
    _, sentence = shop.tells("publish Paid --key o-1").splitlines()
    assert sentence.startswith("Discarded: nobody waited for 'Paid' with key 'o-1' and its time to live is 0; ")
    assert f"instance {instance}" in sentence
    assert "'paid'" in sentence


def test_message_with_time_is_kept_for_who_comes_later(shop: Command) -> None:
    told = shop.json("publish paid --key o-1 --ttl 1h30m")
    assert (told["verdict"], told["reason"], told["taken_by"]) == ("buffered", "nobody_waits", [])
    assert told["sentence"].endswith("it is kept until 2030-01-01T01:30:00Z.")
    shop.order()
    assert shop.open() == {"instances": 1, "jobs": 1}


def test_who_took_it_is_told_with_keys_as_texts(shop: Command) -> None:
    instance = shop.order()
    told = shop.json("publish paid --key o-1")
    assert told["taken_by"] == [{"process_id": "order", "instance_key": instance, "element_id": "paid"}]
    assert isinstance(told["key"], str)


def test_time_to_live_that_is_not_said_is_the_policys(shop: Command) -> None:
    shop.tells("policy set paid time_to_live=2h")
    assert "kept until 2030-01-01T02:00:00Z" in shop.json("publish paid --key o-1")["sentence"]
    assert shop.json("publish paid --key o-1 --ttl 0")["verdict"] == "discarded"


def test_same_id_is_refused_until_it_is_forgotten(shop: Command, clock: FakeClock) -> None:
    first = shop.json("publish paid --key o-1 --ttl 1m --messageId p-1")["key"]
    told = shop.refuses("publish message paid --correlationKey o-1 --ttl 1m --messageId p-1")
    assert told.startswith("ALREADY_EXISTS: ")
    assert first in told
    clock.advance_ms(60_000)
    assert shop.json("publish paid --key o-1 --ttl 1m --id p-1")["verdict"] == "buffered"


def test_business_id_decides_who_may_take_it(shop: Command) -> None:
    variables = '--variables \'{"orderId": "o-1"}\''
    shop.tells(f"create order {variables} --businessId b-1")
    second = shop.json(f"create order {variables} --business-id b-2")["key"]
    (taken,) = shop.json("publish paid --key o-1 --businessId b-2")["taken_by"]
    assert taken["instance_key"] == second


def test_waiting_ends_with_code_one_if_nobody_takes_it(shop: Command) -> None:
    said = shop("publish paid --key o-1 --ttl 1h --wait 20ms")
    assert said.code == 1
    assert "Buffered: nobody waits for 'paid' with key 'o-1' yet" in said.out
    assert shop("publish paid --key o-1 --wait 1h").code == 1


def test_waiting_ends_when_somebody_takes_it(shop: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from conjoin.runtime.explain import explain

    monkeypatch.setattr(explain.wait_for_verdict, "__defaults__", (lambda pause_s: create(),))
    created: list[str] = []

    def create() -> None:
        created.append(shop.order())

    said = shop("publish paid --key o-1 --ttl 1h --wait 1h")
    assert said.code == 0
    assert f"instance {created[0]} at paid) took it" in said.out
    assert len(created) == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("publish", "publish takes the NAME of one message, or --file with many"),
        ("publish paid --file m.jsonl", "publish takes the NAME of one message, or --file with many"),
        ("publish paid --ttl soon", "--ttl: 'soon' is not a duration such as 300ms, 30s, 1h30m or 7d"),
        ("publish paid --ttl 1h30", "--ttl: '1h30' is not a duration such as 300ms, 30s, 1h30m or 7d"),
        ("publish paid --wait long", "--wait: 'long' is not a duration such as 300ms, 30s, 1h30m or 7d"),
        ("publish --file nowhere.jsonl", "--file: nowhere.jsonl: No such file or directory"),
        ("publish --file conjoin-data", "--file: conjoin-data: Is a directory"),
    ],
)
def test_bad_input_is_named_and_nothing_is_published(line: str, told: str, shop: Command) -> None:
    shop.order("")
    assert shop.cannot(line) == told
    assert shop.open() == {"instances": 1, "subscriptions": 1}


def test_message_without_a_name_is_refused(shop: Command) -> None:
    assert shop.refuses("publish ' '") == "INVALID_ARGUMENT: a message needs a name"
    assert shop.refuses("correlate-message ''") == "INVALID_ARGUMENT: a message needs a name"


def test_synchronous_message_is_taken_now_or_refused(shop: Command) -> None:
    instance = shop.order()
    told = shop.tells("correlate-message paid --correlationKey o-1")
    assert told.endswith(f"was taken by instance {instance}")
    assert shop.refuses("correlate-message paid --key o-1").startswith("NOT_FOUND: ")
    assert shop.json("publish paid --key o-1")["verdict"] == "discarded"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("publish paid --key o-9", 1),
        ("publish paid --key o-9 --ttl 1h", 0),
        ("publish paid --key o-1", 0),
    ],
)
def test_a_lost_message_fails_the_command_if_that_is_asked_for(shop: Command, line: str, code: int) -> None:
    shop.order("o-1")
    assert shop(f"{line} --fail-if-lost").code == code


@pytest.mark.parametrize(("ttl", "code"), [("0s", 1), ("1h", 0)])
def test_a_file_with_a_lost_message_fails_the_command_if_that_is_asked_for(
    shop: Command, tmp_path: Path, ttl: str, code: int
) -> None:
    shop.order("o-1")
    file = tmp_path / "messages.jsonl"
    file.write_text(f'{{"name": "paid", "key": "o-1"}}\n{{"name": "paid", "key": "o-9", "ttl": "{ttl}"}}\n')
    assert shop(f"publish --file {file} --fail-if-lost").code == code
