"""SQLite: an older store is brought to the newest schema, a newer one is refused."""

from contextlib import closing
from pathlib import Path

import pytest

from conjoin.errors import StoreDamaged, StoreFailed, StoreTooNew
from conjoin.store import open_store, schema
from conjoin.store import tables as t
from tests.store.samples import job
from tests.store.sqlite_place import ask, make, write


def test_a_store_written_by_a_newer_conjoin_is_refused_and_left_alone(folder: Path) -> None:
    make(folder)
    write(folder / "catalog.db", f"pragma user_version = {schema.VERSION + 1}")
    with pytest.raises(StoreTooNew, match=rf"catalog\.db has schema version {schema.VERSION + 1}"):
        open_store(folder)
    assert ask(folder / "catalog.db", "pragma user_version") == schema.VERSION + 1


def test_a_shard_written_by_a_newer_conjoin_is_refused(folder: Path) -> None:
    make(folder)
    write(folder / "shard-01.db", "pragma user_version = 99")
    with closing(open_store(folder)) as store:
        with pytest.raises(StoreTooNew, match=r"shard-01\.db"):
            store.shard(1).begin()
        store.shard(0).begin()


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A schema with one step more than ours; the steps are the files in this folder."""
    steps = tmp_path / "steps"
    for part in ("shard", "catalog"):
        (steps / part).mkdir(parents=True)
    (steps / "shard" / f"{schema.VERSION + 1:04}.sql").write_text(
        "-- One; and two.\nalter table job add column note {text} not null default 'none';\n"
        "create index job_note on job (note);\n"
    )
    monkeypatch.setattr(schema, "FOLDER", steps)
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    return steps


@pytest.fixture
def older(folder: Path) -> Path:
    make(folder, {t.JOB: [job(1)]})
    return folder


def test_an_older_store_is_brought_to_the_newest_schema_and_keeps_its_rows(older: Path, newer: Path) -> None:
    with closing(open_store(older)) as store:
        assert store.facts.schema == schema.VERSION
        assert list(store.rows(t.JOB, {}, None, 9)) == [job(1)]
    for file in ("catalog.db", "shard-00.db", "shard-01.db"):
        assert ask(older / file, "pragma user_version") == schema.VERSION
    assert ask(older / "shard-00.db", "select note from job") == "none"


def test_a_migration_that_fails_leaves_a_file_as_it_was_and_is_taken_up_again(older: Path, newer: Path) -> None:
    step = newer / "shard" / f"{schema.VERSION:04}.sql"
    right = step.read_text()
    step.write_text(right + "create index job_note on job (note);\n")
    with pytest.raises(StoreFailed, match=r"shard-00\.db"):
        open_store(older)
    assert ask(older / "shard-00.db", "pragma user_version") == schema.VERSION - 1
    assert ask(older / "shard-00.db", "select count(*) from pragma_table_info('job') where name = 'note'") == 0
    step.write_text(right)
    with closing(open_store(older)) as store:
        assert store.facts.schema == schema.VERSION


def test_a_migration_that_stopped_between_two_shards_goes_on_where_it_stopped(older: Path, newer: Path) -> None:
    (older / "shard-01.db").rename(older / "elsewhere")
    with pytest.raises(StoreDamaged, match=r"shard-01\.db"):
        open_store(older)
    assert ask(older / "shard-00.db", "pragma user_version") == schema.VERSION
    assert ask(older / "catalog.db", "pragma user_version") == schema.VERSION - 1
    (older / "elsewhere").rename(older / "shard-01.db")
    open_store(older).close()
    assert ask(older / "shard-01.db", "pragma user_version") == schema.VERSION
