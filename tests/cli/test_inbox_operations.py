"""conjoin inbox pause, resume, retry, release, delete, set, correct: by key or by selection, recorded with who."""

import io
import sys
from pathlib import Path

import pytest

from conjoin.testing.clock import FakeClock
from tests.cli.command import Command
from tests.cli.test_inbox import TOML, key_of, lines

STATES = {"m-1": "parked", "m-2": "parked", "m-3": "waiting", "m-4": "done"}


@pytest.fixture
def inbox(shop: Command) -> Command:
    """Two messages that are parked, one that waits and one that is done."""
    Path("conjoin.toml").write_text(TOML.replace("max_attempts = 2", "max_attempts = 1"))
    shop.order("o-4")
    rows = [f'{{"id": "m-{n}", "name": "paid", "key": "o-{n}"}}' for n in (1, 2, 4)]
    Path("rows.jsonl").write_text("\n".join(rows))
    Path("later.jsonl").write_text('{"id": "m-3", "name": "paid", "key": "o-3"}')
    shop.tells("inbox receive orders rows.jsonl")
    shop("inbox run")
    shop.tells("inbox receive orders later.jsonl")
    assert states(shop) == STATES
    return shop


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERP_PASSWORD", "secret")


def states(inbox: Command) -> dict[str, str]:
    items = lines(inbox, "inbox list")
    return {it["message_id"]: it["state"] for it in items if it["state"] != "deleted" or it["attempts"] == 0}


def test_messages_are_paused_and_resumed_by_key(inbox: Command) -> None:
    keys = " ".join(key_of(inbox, id_) for id_ in ("m-1", "m-3"))
    assert inbox.tells(f"inbox pause {keys}") == "2 messages paused"
    assert states(inbox) == STATES | {"m-1": "paused", "m-3": "paused"}
    assert inbox.tells("inbox resume --all --yes") == "2 messages resumed"
    assert states(inbox) == STATES


def test_a_selection_is_counted_before_anything_is_done(inbox: Command) -> None:
    assert inbox.json("inbox delete --all --dry-run") == {"changed": 3, "refused": {"ended": 1}, "dry_run": True}
    assert inbox.tells("inbox retry --key o-2 --dry-run") == "1 messages would be due now"
    assert states(inbox) == STATES


def test_a_selection_is_asked_about_unless_one_says_yes(inbox: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    said = inbox("inbox release --all")
    assert said.code == 1
    assert "2 messages would be released. Go on?" in said.err
    assert states(inbox) == STATES
    assert inbox.tells("inbox release --all --yes") == "2 messages released"
    assert states(inbox) == STATES | {"m-1": "waiting", "m-2": "waiting"}


def test_a_selection_is_narrowed_by_what_people_know(inbox: Command, clock: FakeClock) -> None:
    clock.advance_ms(3_600_000)
    assert inbox.json("inbox release --text 'nobody waited' --key o-1 --yes")["changed"] == 1
    group = inbox.json(f"inbox show {key_of(inbox, 'm-2')}")["group"]
    assert inbox.json(f"inbox pause --group '{group}' --until 30m --yes")["changed"] == 1
    assert inbox.json("inbox delete --since 30m --yes")["changed"] == 0
    assert states(inbox) == STATES | {"m-1": "waiting", "m-2": "paused"}


def test_who_did_it_is_recorded(inbox: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    key = key_of(inbox, "m-1")
    inbox.tells(f"inbox retry {key}")
    inbox.tells(f"inbox delete {key} --who eve")
    history = inbox.json(f"inbox show {key}")["history"]
    assert [(it["kind"], it["who"]) for it in history[1:]] == [("retry", "ada"), ("delete", "eve")]


def test_of_several_keys_each_that_is_refused_is_told(inbox: Command) -> None:
    done, parked = key_of(inbox, "m-4"), key_of(inbox, "m-1")
    said = inbox(f"inbox delete {done} {parked}")
    assert (said.code, said.out) == (1, "1 messages deleted, 1 not: 1 ended\n")
    assert said.err == f"conjoin: {done}: ended: the message is done\n"


def test_attempts_and_next_retry_are_set(inbox: Command) -> None:
    key = key_of(inbox, "m-1")
    told = inbox.json(f"inbox set {key} --attempts 0 --next-retry 10m")
    assert told == {"key": key, "state": "waiting", "attempts": 0, "next_retry_at": "2030-01-01T00:10:00Z"}
    assert inbox.tells(f"inbox set {key} --next-retry 2030-01-02T00:00:00Z").endswith("2030-01-02T00:00:00Z")
    assert inbox.refuses(f"inbox set {key} --attempts -1") == "invalid: attempts cannot be -1"


def test_a_corrected_key_is_tried_at_the_next_run(inbox: Command, clock: FakeClock) -> None:
    inbox.order("right")
    key = key_of(inbox, "m-1")
    assert inbox.json(f"inbox correct {key} --key right")["state"] == "waiting"
    clock.advance_ms(1)
    assert "1 correlated" in inbox.tells("inbox run")
    assert inbox.json(f"inbox show {key}")["correlation_key"] == "right"
    assert inbox.cannot(f"inbox correct {key} --hint '{{\"kye\": 1}}'").startswith("kye: a hint has no such field")


def test_a_corrected_payload_is_mapped_again(inbox: Command, clock: FakeClock) -> None:
    inbox.order("o-9")
    Path("row.jsonl").write_text('{"type": "paid", "order": "wrong", "event": "x-1", "n": 1}')
    Path("mended.json").write_text('{"type": "paid", "order": "o-9", "event": "x-1", "n": 2}')
    inbox.tells("inbox receive mapped row.jsonl")
    inbox.tells("inbox run")
    key = key_of(inbox, "x-1")
    inbox.tells(f"inbox correct {key} --payload mended.json")
    clock.advance_ms(1)
    assert "1 correlated" in inbox.tells("inbox run")
    assert inbox.json(f"inbox show {key}")["hint"]["variables"] == {"n": 2}
    Path("mended.json").write_text("{")
    assert inbox.refuses(f"inbox correct {key} --payload mended.json").startswith("invalid: the payload is not JSON")
