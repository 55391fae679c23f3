"""Backup, restore and another number of shards keep the inbox, and it goes on where it was."""

from contextlib import closing
from pathlib import Path

import pytest

from conjoin.kernel.inbox.message import Hint
from conjoin.kernel.inbox.operations import Correct, Pause, Release
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox import inbox as inbox_module
from conjoin.runtime.inbox.placement import home_of_row
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.runtime.upkeep.backup import backup_store, restore_store
from conjoin.runtime.upkeep.reshard import reshard_store
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock
from tests.runtime.inbox.bench import REMOTE, Bench, preset

TABLES = (t.INBOX, t.INBOX_CONTENT, t.INBOX_ATTEMPT)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Messages of all kinds, on three shards."""
    clock = FakeClock()
    bench = Bench(create_broker(tmp_path / "store", 3, clock), clock, preset(max_attempts=2, backoff_base=1.0))
    for number in range(12):
        bench.send(f"o-{number}", f"m-{number:02}", group="named" if number % 4 == 0 else "", payload={"n": number})
        bench.send("", f"r-{number:02}", REMOTE, hint=Hint("paid", business_key=f"b-{number}"))
    bench.targets = {}
    bench.configure(bench.settings)
    bench.run()
    bench.operate("m-01", Pause())
    bench.wait("o-2")
    bench.run(after_s=60)
    return bench


def everything(broker: Broker) -> dict[str, list[object]]:
    return {table.name: list(broker.store.rows(table, {}, None, 10_000)) for table in TABLES}


def goes_on(bench: Bench, broker: Broker) -> None:
    """Whoever can be taken is taken, on whichever shard it is now."""
    bench.broker = broker
    bench.targets = {"elsewhere": bench.target}
    bench.configure(bench.settings)
    bench.wait("o-3", "o-5")
    for number in (3, 5):
        if bench.row(f"m-{number:02}").state == "parked":
            bench.operate(f"m-{number:02}", Release())
    bench.run(after_s=60)
    assert bench.row("m-03").state == bench.row("m-05").state == "done"
    assert {row.state for row in bench.rows(target="elsewhere")} == {"done"}
    assert bench.send("o-3", "m-03").duplicate == 1


def test_a_backup_and_what_is_restored_from_it_hold_the_whole_inbox(bench: Bench, tmp_path: Path) -> None:
    before = everything(bench.broker)
    groups = bench.groups()
    backup_store(bench.broker.store, tmp_path / "backup")
    restore_store(tmp_path / "backup", tmp_path / "restored")
    bench.broker.close()
    with closing(open_broker(tmp_path / "restored", bench.clock)) as restored:
        assert everything(restored) == before
        bench.broker = restored
        assert bench.groups() == groups
        goes_on(bench, restored)


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_another_number_of_shards_keeps_every_message_where_it_is_found(
    bench: Bench, tmp_path: Path, shards: int
) -> None:
    before = everything(bench.broker)
    reshard_store(bench.broker.store, shards, tmp_path / "resharded", lambda text: None)
    bench.broker.close()
    with closing(open_broker(tmp_path / "resharded", bench.clock)) as resharded:
        assert everything(resharded) == before
        for shard in range(shards):
            with resharded.post.look(shard) as snapshot:
                keys = [row.key for row in before["inbox"]]  # type: ignore[attr-defined]
                here = snapshot.inbox_rows(keys)
                assert {home_of_row(row, shards) for row in here} <= {shard}
                assert len(snapshot.inbox_contents([row.key for row in here] or [0])) == len(here)
        goes_on(bench, resharded)


def test_a_message_that_is_moving_when_the_shards_change_arrives_all_the_same(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(inbox_module, "finish_moves", lambda shards: 0)
        for number in range(12):
            bench.operate(f"r-{number:02}", Correct(hint=Hint("paid", business_key=f"c-{number}")))
            bench.operate(f"m-{number:02}", Correct(hint=Hint("paid", f"p-{number}")))
    reshard_store(bench.broker.store, 2, tmp_path / "resharded", lambda text: None)
    bench.broker.close()
    with closing(open_broker(tmp_path / "resharded", bench.clock)) as resharded:
        bench.broker, bench.targets = resharded, {"elsewhere": bench.target}
        bench.configure(bench.settings)
        bench.wait(*(f"p-{number}" for number in range(12)))
        bench.run(after_s=60)
        assert {row.state for row in bench.rows(target="elsewhere") if row.state != "deleted"} == {"done"}
        done = {row.message_id for row in bench.rows(target="", state="done")}
        assert done == {f"m-{number:02}" for number in range(12) if number != 1}
