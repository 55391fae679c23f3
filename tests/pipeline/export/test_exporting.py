"""Exactly once: runs that die anywhere, logs that were shortened, folders of other stores, two runs at a time."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from conjoin.cli.main import run
from conjoin.errors import InputError, StoreFailed
from conjoin.pipeline.export import ExportRequest
from conjoin.pipeline.export.exporting import carry_out, opened_target
from conjoin.pipeline.export.target import DELTA, PARQUET
from conjoin.pipeline.source.tables import TABLES
from conjoin.runtime.upkeep.removal import HouseKeeper, version_of
from tests.pipeline.export.lake import SHARDS, ArrowWriter, Lake, told


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    lake = Lake(tmp_path)
    yield lake
    lake.bench.broker.close()


@pytest.fixture(params=[PARQUET, DELTA])
def any_lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lake]:
    lake = Lake(tmp_path, request.param)
    yield lake
    lake.bench.broker.close()


def shorten_the_log(lake: Lake) -> None:
    """But for the last block of each shard."""
    for shard in range(SHARDS):
        keeper = HouseKeeper(lake.bench.store, shard)
        list(keeper.remove_log("version", version_of(keeper.shard)))
        keeper.close()


def test_all_tables_are_those_of_the_store(any_lake: Lake) -> None:
    any_lake.orders("o-1", "o-2", "o-3")
    exported = any_lake.export(*TABLES)
    assert any_lake.is_like_the_store(*TABLES)
    assert exported.manifest == any_lake.manifest()
    assert {name: told["rows"] for name, told in any_lake.manifest()["tables"].items()} == exported.rows


def test_a_run_adds_what_happened_since_the_last(any_lake: Lake) -> None:
    any_lake.orders("o-1", "o-2", "o-3")
    first = any_lake.export("events").rows["events"]
    assert any_lake.export("events").rows == {"events": 0}
    any_lake.orders("o-4")
    second = any_lake.export("events").rows["events"]
    assert first + second == len(any_lake.in_store("events"))
    assert any_lake.is_like_the_store("events")


def test_commits_without_events_are_passed_over(any_lake: Lake) -> None:
    any_lake.orders("o-1", "o-2", "o-3")
    any_lake.export("events")
    shorten_the_log(any_lake)
    kept = any_lake.rows("events")
    assert any_lake.export("events").rows == {"events": 0}
    any_lake.orders("o-4")
    any_lake.export("events")
    added = [row for row in any_lake.in_store("events") if told([row]).keys() - told(kept).keys()]
    assert told(any_lake.rows("events")) == told(kept) + told(added)


@pytest.mark.parametrize(("step", "steps"), [("rename", SHARDS + 1), ("replace", 2)])
def test_a_run_that_dies_anywhere_leaves_nothing_twice_and_loses_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, step: str, steps: int
) -> None:
    """What appears does so by one call of these: it dies at the first of them, then at the second, ..."""
    lake.orders("o-1", "o-2", "o-3")
    lake.export("events", "messages")
    for survived in range(steps):
        lake.orders("a", "b", "c", "d", "e", "f")
        before = lake.manifest()
        with monkeypatch.context() as patch:
            patch.setattr(Path, step, dying_after(survived, getattr(Path, step)))
            with pytest.raises(InterruptedError):
                lake.export("events", "messages")
        in_store = told(lake.in_store("events"))
        assert all(count == in_store[row] == 1 for row, count in told(lake.rows("events")).items())
        assert lake.rows("messages")
        assert lake.manifest() == before
    lake.export("events", "messages")
    assert lake.is_like_the_store("events", "messages")
    assert not (lake.folder / "_writing").exists()


@pytest.mark.parametrize("step", ["before", "after"])
def test_a_delta_run_that_dies_beside_a_commit_leaves_nothing_twice_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Files lie where they belong before a commit names them, and the manifest comes when all is committed."""
    lake = Lake(tmp_path, DELTA)
    lake.orders("o-1", "o-2", "o-3")
    lake.export("events", "messages")
    for survived in range(SHARDS + 1):
        lake.orders("a", "b", "c", "d", "e", "f")
        with monkeypatch.context() as patch:
            patch.setattr(DeltaTable, "create_write_transaction", dying_beside(survived, step))
            with pytest.raises(InterruptedError):
                lake.export("events", "messages")
        in_store = told(lake.in_store("events"))
        assert all(count == in_store[row] == 1 for row, count in told(lake.rows("events")).items())
    lake.export("events", "messages")
    assert lake.is_like_the_store("events", "messages")
    assert not (lake.folder / "_writing").exists()
    lake.bench.broker.close()


def dying_beside(survived: int, step: str) -> Callable[..., None]:
    left, commit = iter(range(survived)), DeltaTable.create_write_transaction

    def dying(*arguments: Any, **more: Any) -> None:
        is_over = next(left, None) is None
        if not is_over or step == "after":
            commit(*arguments, **more)
        if is_over:
            raise InterruptedError

    return dying


def test_a_folder_keeps_its_format(lake: Lake) -> None:
    lake.export("messages")
    with pytest.raises(InputError, match="holds an export as parquet: give another folder"):
        carry_out(ExportRequest(lake.address, lake.folder, ["messages"], DELTA), ArrowWriter(lake.address), print)


def dying_after(survived: int, step: Callable[[Path, Path], Any]) -> Callable[[Path, Path], Any]:
    left = iter(range(survived))

    def dying(path: Path, place: Path) -> Any:
        if next(left, None) is None:
            raise InterruptedError
        return step(path, place)

    return dying


def test_the_snapshot_before_stays_for_whoever_reads_it(lake: Lake) -> None:
    for number in range(1, 4):
        lake.orders(f"o-{number}")
        lake.export("messages")
    assert sorted(path.name for path in (lake.folder / "_snapshots/messages").iterdir()) == ["2", "3"]
    assert lake.manifest()["tables"] == {"messages": {"rows": 3, "folders": ["_snapshots/messages/3"]}}


def test_what_the_log_has_lost_is_said_and_the_rest_exported(lake: Lake) -> None:
    lake.orders("o-1", "o-2", "o-3")
    shorten_the_log(lake)
    notes = lake.export("events").notes
    assert len(notes) == SHARDS
    assert notes[0].endswith("of shard 0 are not in the log any more: their events are in no export")
    assert lake.is_like_the_store("events")


def test_a_log_that_is_shortened_while_it_is_read_is_not_exported(lake: Lake) -> None:
    class Slow(ArrowWriter):
        def events(self, *arguments: Any) -> int:
            shorten_the_log(lake)
            return super().events(*arguments)

    lake.orders("o-1", "o-2", "o-3")
    with pytest.raises(StoreFailed, match="was shortened while it was exported"):
        carry_out(ExportRequest(lake.address, lake.folder, ["events"]), Slow(lake.address), print)
    assert not (lake.folder / "events").exists()


def test_rows_that_were_written_elsewhere_are_missed(lake: Lake, tmp_path: Path) -> None:
    class Remote(ArrowWriter):
        def table(self, name: str, folder: Path) -> int:
            folder.mkdir()
            return super().table(name, tmp_path / "elsewhere")

    lake.orders("o-1")
    with pytest.raises(InputError, match="1 rows of messages were written elsewhere"):
        carry_out(ExportRequest(lake.address, lake.folder, ["messages"]), Remote(lake.address), print)
    assert not (lake.folder / "messages").exists()


@pytest.mark.parametrize("format_", [PARQUET, DELTA])
def test_events_of_another_store_are_not_mixed_in(tmp_path: Path, format_: str) -> None:
    lake, other = Lake(tmp_path / "here", format_), Lake(tmp_path / "elsewhere", format_)
    lake.orders("o-1", "o-2", "o-3")
    lake.export("events")
    other.folder = lake.folder
    for keys in ((), ("o-2", "o-3", "o-1", "o-4", "o-5", "o-6")):
        # It has not come so far yet; then it has, with other commits.
        other.orders(*keys)
        with pytest.raises(InputError, match="what was exported of shard 0 is not of this store"):
            other.export("events")
    assert lake.is_like_the_store("events")
    other.bench.broker.close()
    lake.bench.broker.close()


def test_two_exports_do_not_write_to_one_folder_at_a_time(tmp_path: Path) -> None:
    with (
        opened_target(tmp_path / "lake"),
        pytest.raises(InputError, match="another export writes to"),
        opened_target(tmp_path / "lake"),
    ):
        pass


def test_what_a_killed_run_was_writing_is_removed(tmp_path: Path) -> None:
    with opened_target(tmp_path / "lake") as target:
        half = target.part("messages")
    half.mkdir(parents=True)
    with opened_target(tmp_path / "lake"):
        assert not half.exists()


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="holds something that is no export"), opened_target(tmp_path):
        pass
    with pytest.raises(InputError, match="is no folder"), opened_target(tmp_path / "mine.txt"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give either --out with a folder or --to with a topic"),
        (["--out", "lake", "--to", "kafka://localhost:9092/events"], "give either --out with a folder or --to"),
        (["--to", "kafka://localhost:9092/events", "--tables", "messages"], "--tables: a topic takes events"),
        (["--to", "https://localhost:9092/events"], "--to: 'https://localhost:9092/events' is no topic such as"),
        (["--out", "lake", "--format", "iceberg"], "--format: 'iceberg' is neither parquet nor delta"),
    ],
)
def test_what_is_wrong_with_the_command_is_said_before_spark_starts(
    lake: Lake, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", *arguments, "--data", lake.address]) != 0
    assert sentence in " ".join(capsys.readouterr().err.split())
