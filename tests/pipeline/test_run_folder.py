"""The folder of a run: whatever moment it dies at, the tables of two runs are never seen together."""

from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from conjoin.errors import InputError
from conjoin.pipeline.correlate.results import NAMES
from conjoin.pipeline.correlate.writing.run_folder import DECIDED, DONE, STAGING, RunFolder, filesystem_of, read_run


class ProcessGoneError(Exception):
    """The process is gone."""


def staged(folder: Path, run: str, names: tuple[str, ...] = ("verdicts", "open")) -> tuple[RunFolder, dict[str, Any]]:
    home = RunFolder(fs.LocalFileSystem(), str(folder), run)
    home.begin(overwrite=True)
    for table in names:
        (folder / STAGING / run / table / f"part-{run}.parquet").write_text(run)
        (folder / STAGING / run / table / f"part-{run}-of-a-failed-attempt.parquet").write_text("orphan")
    return home, {"files": {table: [{"name": f"part-{run}.parquet"}] for table in names}, "as_of": "now"}


def seen(folder: Path) -> set[str]:
    """The runs whose rows a reader of the tables would find."""
    tables = [file for table in NAMES for file in (folder / table).glob("part-*")]
    return {file.read_text() for file in tables}


def test_tables_appear_together_and_orphans_never(tmp_path: Path) -> None:
    home, described = staged(tmp_path, "one")
    assert seen(tmp_path) == set()
    home.commit(described)
    assert seen(tmp_path) == {"one"}
    assert sorted(file.name for file in tmp_path.iterdir()) == [DONE, "open", "verdicts"]
    run = read_run(str(tmp_path))
    assert run is not None
    assert run["run"] == "one"


def test_a_run_that_dies_before_its_commit_leaves_the_one_before_and_is_swept(tmp_path: Path) -> None:
    home, described = staged(tmp_path, "one")
    home.commit(described)
    staged(tmp_path, "dead")
    assert seen(tmp_path) == {"one"}
    home, described = staged(tmp_path, "two", ("verdicts",))
    assert not (tmp_path / STAGING / "dead").exists()
    home.commit(described)
    assert seen(tmp_path) == {"two"}
    assert not (tmp_path / "open").exists()


@pytest.mark.parametrize("steps", range(12))
def test_a_run_that_dies_in_its_commit_is_finished_by_the_next(
    steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, described = staged(tmp_path, "one")
    home.commit(described)
    home, described = staged(tmp_path, "two")
    left = [steps]

    def mortal(act: Any) -> Any:
        def do(self: RunFolder, *names: str) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise ProcessGoneError
            act(self, *names)

        return do

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "_move", mortal(RunFolder._move))
        patched.setattr(RunFolder, "_remove", mortal(RunFolder._remove))
        try:
            home.commit(described)
            died = False
        except ProcessGoneError:
            died = True
    # As a run does that lives on after a failed move.
    home.abandon()
    decided = (tmp_path / DECIDED).exists()
    if died and not decided:
        assert seen(tmp_path) == {"one"} or read_run(str(tmp_path)) is not None
    if decided:
        # In the midst of the moves: nobody is told that a run is there.
        assert read_run(str(tmp_path)) is None
        with pytest.raises(InputError, match="is not empty"):
            RunFolder(fs.LocalFileSystem(), str(tmp_path), "next").begin(overwrite=False)
        assert seen(tmp_path) == {"two"}
    run = read_run(str(tmp_path))
    assert run is not None
    assert seen(tmp_path) == {run["run"]}
    assert died or run["run"] == "two"


def test_files_that_are_gone_are_not_committed(tmp_path: Path) -> None:
    home, described = staged(tmp_path, "one")
    staged(tmp_path, "two")
    with pytest.raises(InputError, match="another run"):
        home.commit(described)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        RunFolder(fs.LocalFileSystem(), str(tmp_path), "one").begin(overwrite=False)
    home, described = staged(tmp_path, "one")
    home.commit(described)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_addresses_that_pyarrow_does_not_know_are_left_to_spark() -> None:
    assert filesystem_of("dbfs://somewhere/out") is None
    found = filesystem_of("file:///somewhere/out")
    assert found is not None
    assert found[1] == "/somewhere/out"
