"""conjoin inbox: rows come in, are tried, and are listed and shown; what is wrong with the input is told."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from conjoin.cli.inbox import running
from conjoin.cli.spark.closing import IN_WORDS
from conjoin.kernel.verdicts.verdicts import REASONS
from conjoin.testing.clock import FakeClock
from tests.cli.command import Command

TOML = """
[inbox]
max_attempts = 2
poll_initial_delay = "1s"

[inbox.channels.orders]

[inbox.channels.mapped]
mapping = { name = "= type", key = "= order", id = "= event", variables = "= {n: n}" }

[inbox.channels.off]
enabled = false

[inbox.channels.remote]
target = "erp"

[inbox.targets.erp]
kind = "camunda7"
url = "http://127.0.0.1:1/engine-rest"
password = "$ERP_PASSWORD"
user = "demo"
"""
ROWS = """
{"id": "m-1", "name": "paid", "key": "o-1", "variables": {"n": 1}}
{"id": "m-2", "name": "paid", "key": "o-2"}
{"id": "m-3", "name": "paid", "key": "o-3", "payload": "{", "headers": {"X-CORRELATE-PayloadType-FQCN": "orders.Paid"}}
{"nam": "paid"}
{
"""


@pytest.fixture
def inbox(shop: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("ERP_PASSWORD", "secret")
    Path("conjoin.toml").write_text(TOML)
    Path("rows.jsonl").write_text(ROWS)
    return shop


def lines(inbox: Command, line: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in inbox.tells(f"{line} --json").splitlines()]


def key_of(inbox: Command, id_: str) -> str:
    [item] = lines(inbox, f"inbox list --id {id_}")
    return str(item["key"])


def test_rows_are_received_tried_and_listed(inbox: Command) -> None:
    order = inbox.order("o-1")
    assert inbox.tells("inbox receive orders rows.jsonl") == "5 received, 3 accepted, 3 persisted, 2 dead lettered"
    assert inbox.tells("inbox run") == "1 correlated, 1 decode error, 1 target error"
    assert inbox.tells("inbox run") == "nothing was due"
    header, *rows = inbox.tells("inbox list").splitlines()
    assert header.split("  ")[0] == "key"
    assert sorted(row.split()[1] for row in rows) == ["done", "waiting", "waiting"]
    [taken] = lines(inbox, "inbox list --state done")
    assert (taken["message_id"], taken["verdict"]) == ("m-1", "correlated")
    assert f"instance {order} was already waiting for 'paid'" in inbox.tells(f"inbox show {taken['key']}")
    assert [it["message_id"] for it in lines(inbox, "inbox list --error decode_error --type orders.Paid")] == ["m-3"]


def test_a_file_that_is_received_again_brings_nothing_new(inbox: Command) -> None:
    Path("rows.csv").write_text("name,key\npaid,o-1\npaid,o-2\n")
    assert inbox.json("inbox receive orders rows.csv") == {"received": 2, "accepted": 2, "persisted": 2}
    assert inbox.json("inbox receive orders rows.csv") == {"received": 2, "accepted": 2, "duplicate": 2}
    assert inbox.json("inbox receive orders rows.csv --source tuesday")["persisted"] == 2


def test_the_standard_input_is_read_and_has_no_place_unless_it_is_named(
    inbox: Command, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, persisted in (("-", 1), ("-", 1), ("- --source a", 1), ("- --source a", None)):
        stdin = io.TextIOWrapper(io.BytesIO(b'{"name": "paid", "key": "o-1"}'))
        monkeypatch.setattr(sys, "stdin", stdin)
        clock.advance_ms(1)
        assert inbox.json(f"inbox receive orders {arguments}").get("persisted") == persisted


def test_dead_letters_of_the_inbox_are_listed_with_the_others(inbox: Command) -> None:
    inbox.tells("inbox receive orders rows.jsonl")
    letters = lines(inbox, "dead-letters list --source orders")
    assert [(it["position"], it["reason"]) for it in letters] == [(5, "bad_type"), (6, "unreadable")]


def test_a_message_is_shown_with_payload_headers_and_every_attempt(inbox: Command, clock: FakeClock) -> None:
    inbox.tells("inbox receive orders rows.jsonl")
    inbox.tells("inbox run")
    clock.advance_ms(3_600_000)
    inbox.tells("inbox run")
    key = key_of(inbox, "m-3")
    inbox.tells(f"inbox release {key} --who eve")
    told = inbox.json(f"inbox show {key}")
    assert (told["payload"], told["state"], told["headers"]["X-CORRELATE-ID"]) == ("{", "waiting", "m-3")
    assert [(it["kind"], it["reason"], it["who"], it["at"]) for it in told["history"]] == [
        ("attempt", "decode_error", "", "2030-01-01T00:00:00Z"),
        ("attempt", "decode_error", "", "2030-01-01T01:00:00Z"),
        ("release", "", "eve", "2030-01-01T01:00:00Z"),
    ]
    said = inbox.tells(f"inbox show {key}")
    assert "payload (json) {" in said
    assert "asked {" in said
    assert "release by eve" in said


def test_a_payload_that_is_no_text_is_shown_in_base64(inbox: Command) -> None:
    inbox.tells("inbox receive orders rows.jsonl")
    Path("payload").write_bytes(b"\xff")
    key = key_of(inbox, "m-1")
    inbox.tells(f"inbox correct {key} --payload payload")
    assert inbox.json(f"inbox show {key}")["payload_base64"] == "/w=="


def test_watching_prints_a_line_for_a_run_that_did_something(
    inbox: Command, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = iter([1_000, 6_000, 60_000])

    def sleep(seconds: float) -> None:
        pause = next(pauses, None)
        if pause is None:
            raise KeyboardInterrupt
        clock.advance_ms(pause)

    inbox.tells("inbox receive orders rows.jsonl")
    monkeypatch.setattr(running, "sleep", sleep)
    first, second = inbox.tells("inbox watch").splitlines()
    assert first == "2030-01-01T00:00:01Z  1 decode error, 2 target error"
    assert second == "2030-01-01T00:01:07Z  1 decode error, 2 target error, 3 retried, 3 parked"


def test_a_target_is_called_with_its_secret_and_never_tells_it(inbox: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("one.jsonl").write_text('{"id": "r-1", "name": "paid", "businessKey": "b-1"}')
    inbox.tells("inbox receive remote one.jsonl")
    assert inbox.tells("inbox run") == "1 target error"
    monkeypatch.delenv("ERP_PASSWORD")
    # Who makes no calls needs no secrets.
    said = inbox.tells(f"inbox show {key_of(inbox, 'r-1')}")
    assert inbox.cannot("inbox run") == (
        "conjoin.toml: inbox: targets.erp.password: there is no variable ERP_PASSWORD in the environment"
    )
    assert "http://127.0.0.1:1/engine-rest cannot be reached" in said
    assert "secret" not in said


def test_the_settings_may_be_a_variable_and_their_problems_name_their_place(
    inbox: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("conjoin.toml").unlink()
    monkeypatch.setenv("CONJOIN_INBOX", '{"channels": {"orders": {}}, "correlate": {"batch": {"mode": "all"}}}')
    assert inbox.tells("inbox receive orders rows.jsonl").startswith("5 received")
    monkeypatch.setenv("CONJOIN_INBOX", '{"batch": {"mode": "al"}, "max_attempt": 3}')
    place = "environment CONJOIN_INBOX: inbox"
    assert inbox.cannot("inbox list").splitlines() == [
        f"{place}: mode: 'al' is none of all, fail_first",
        f"conjoin: {place}: max_attempt: there is no such setting; did you mean 'max_attempts'?",
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("receive nowhere rows.jsonl", "there is no channel 'nowhere'; there are orders, mapped, off, remote"),
        ("receive off rows.jsonl", "the channel 'off' is not enabled"),
        ("receive orders gone.jsonl", "gone.jsonl: No such file or directory"),
        ("receive orders conjoin.toml", "conjoin.toml: does not end with .jsonl, .ndjson, .json or .csv; say which"),
        ("receive orders . --format csv", ".: Is a directory"),
        ("receive orders rows.jsonl --format xml", "--format: 'xml' is none of jsonl, csv"),
        ("receive orders rows.jsonl rows.jsonl", "rows.jsonl: cannot be given twice"),
        ("receive orders a.jsonl b.jsonl --source c", "--source: names the rows of one file, and several are given"),
        ("list --state praked", "state: 'praked' is none of waiting, paused"),
        ("list --since soon", "--since: 'soon' is not an instant"),
        ("list --data gone", "there is no store in gone"),
        ("pause", "no messages selected: give keys, a selection such as --state parked, or --all"),
        ("pause 7 --state parked", "give either keys or a selection, not both"),
        ("set 7", "nothing to set: give --attempts, --next-retry or both"),
        ("set 7 --next-retry soon", "--next-retry: 'soon' is not an instant"),
        ("correct 7", "nothing to correct: "),
        ("correct 7 --payload gone", "--payload: gone: No such file or directory"),
        ("correct 7 --hint '[1]'", "--hint: is not an object"),
    ],
)
def test_what_cannot_be_done_is_told(inbox: Command, line: str, complaint: str) -> None:
    assert re.sub("^conjoin: ", "", inbox.cannot(f"inbox {line}")).startswith(complaint)


def test_a_key_that_there_is_not_is_refused(inbox: Command) -> None:
    there_is_none = "not_found: there is no message 7 in the inbox"
    assert inbox.refuses("inbox show 7") == there_is_none
    assert inbox.refuses("inbox set 7 --attempts 1") == there_is_none
    assert inbox.refuses("inbox correct 7 --key o-1") == there_is_none
    said = inbox("inbox pause 7")
    assert (said.code, said.out, said.err) == (
        *(1, "0 messages paused, 1 not: 1 not found\n"),
        f"conjoin: 7: {there_is_none}\n",
    )


def test_an_inbox_that_is_not_enabled_does_not_run(inbox: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONJOIN_INBOX", '{"enabled": false, "targets": {"erp": {"password": "p"}}}')
    for command in ("run", "watch"):
        assert inbox.cannot(f"inbox {command}") == "the inbox is not enabled: its setting enabled is false"


def test_every_ending_has_words_in_the_closing_table() -> None:
    of_the_inbox = ("waiting", "parked", "failed")
    endings = {(verdict, reason) for verdict in REASONS if verdict not in of_the_inbox for reason in REASONS[verdict]}
    assert set(IN_WORDS) == endings
