"""backup, restore, verify, compact and reshard as people type them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conjoin.testing.clock import FakeClock
from tests.cli.command import Command

DAY_MS = 86_400_000


def last_line(command: Command, line: str, code: int = 0) -> str:
    said = command(line)
    assert said.code == code, said
    return said.out.splitlines()[-1]


def test_backup_is_restored_somewhere_else_and_goes_on_there(shop: Command) -> None:
    shop.order("o-1")
    assert last_line(shop, "backup backups/monday") == "backed up to backups/monday"
    assert last_line(shop, "restore backups/monday --data restored") == "restored to restored"
    shop.tells("publish paid --correlationKey o-1 --data restored")
    assert shop.json("status --data restored")["open"]["jobs"] == 1
    assert shop.json("status")["open"]["jobs"] == 0


def test_both_tell_what_they_copied(shop: Command) -> None:
    shop.order("o-1")
    copied = json.loads(shop("backup copy --json").out)["tables"]
    assert copied["instance"]["rows"] == 1
    assert copied["definition"]["rows"] == 3
    assert json.loads(shop("restore copy --data restored --json").out)["tables"] == copied


def test_restore_into_a_store_that_is_used_is_refused(shop: Command) -> None:
    shop("backup copy")
    said = shop("restore copy")
    assert said.code == 2
    assert said.err.splitlines()[-1].endswith("holds a store with something in it: restore into an empty place")


def test_backup_where_something_is_is_refused(shop: Command) -> None:
    Path("copy").mkdir()
    Path("copy/notes").write_text("mine")
    said = shop("backup copy")
    assert (said.code, Path("copy/notes").read_text()) == (2, "mine")


def test_verify_tells_each_shard(shop: Command) -> None:
    shop.order("o-1")
    said = shop("verify")
    assert said.code == 0
    assert [line.split(":")[0] for line in said.out.splitlines()] == ["shard 0", "shard 1", "shard 2"]
    assert all(line.endswith(", same") for line in said.out.splitlines())
    assert json.loads(shop("verify --json").out)["same"] is True


def test_verify_ends_with_one_and_names_the_row_that_differs(shop: Command) -> None:
    shop.order("o-1")
    for file in Path("conjoin-data").glob("shard-*.db"):
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("update instance set started = 'elsewhere'")
    said = shop("verify")
    assert said.code == 1
    (line,) = [line for line in said.out.splitlines() if not line.endswith(", same")]
    assert "different: instance" in line
    assert "started is 'elsewhere' in the store, and 'command' when the log is replayed" in line


def test_compact_keeps_what_the_settings_say(shop: Command, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.tells("publish nobody --correlationKey x")
    monkeypatch.setattr("conjoin.cli.store.upkeep.now_us", clock)
    clock.advance_ms(8 * DAY_MS)
    for kept in ("forever", "never"):
        monkeypatch.setenv("CONJOIN_MESSAGE_RETENTION", kept)
        assert shop.json("compact")["messages"] == 0
    monkeypatch.delenv("CONJOIN_MESSAGE_RETENTION")
    assert shop.tells("compact") == "removed: messages 1, subscriptions 0, instances 0, log blocks 0"
    assert shop("verify").code == 0


def test_compact_removes_what_is_kept_for_no_time(
    shop: Command, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.tells("publish nobody --correlationKey x")
    clock.advance_ms(1)
    monkeypatch.setenv("CONJOIN_MESSAGE_RETENTION", "0")
    assert shop.json("compact")["messages"] == 1


def test_log_up_to_a_backup_goes_and_verify_then_needs_it(shop: Command) -> None:
    shop("backup copy")
    for number in range(9):
        shop.order(f"o-{number}")
    assert shop.json("compact --backup copy")["log_blocks"] == 3
    said = shop("verify")
    assert said.code == 1
    assert "the log begins at version 2, and its head was removed: replay it from a backup" in said.out
    assert shop("verify --from copy").code == 0


def test_reshard_makes_a_store_that_goes_on(shop: Command) -> None:
    shop.order("o-1")
    assert last_line(shop, "reshard --shards 2 --out narrow") == "narrow has 2 shards, was 3"
    shop.tells("publish paid --correlationKey o-1 --data narrow")
    assert shop.json("status --data narrow")["open"]["jobs"] == 1
    assert len(shop.json("status --data narrow")["shards"]) == 2


def test_no_shards_are_not_possible(shop: Command) -> None:
    assert shop("reshard --shards 0 --out none").code == 2
