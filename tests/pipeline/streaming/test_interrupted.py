"""A batch that dies at any point is taken again: nothing is lost or told twice. Two streams on a state are refused."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from msgspec import structs

from conjoin import fault_points
from conjoin.errors import InputError
from conjoin.fault_points import OF_STREAMS
from conjoin.pipeline.streaming.batch_rows import batch_rows_of
from conjoin.pipeline.streaming.batches import CorrelateBatches
from tests.pipeline.many import AS_OF, Many
from tests.pipeline.streaming.cuttings import TIME, Tables, cut, frame, frames, one_run, stream_of, tables_of
from tests.pipeline.streaming.test_any_cutting import check

POINTS = (*OF_STREAMS, "file_written")


class DeathError(Exception):
    """Stands for the end of the process: nobody who catches it has anything to put right."""


def die() -> None:
    raise DeathError


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    yield
    fault_points.disarm()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2, 5])
@pytest.mark.parametrize("by", ["another process", "the same"])
def test_batch_that_dies_at_any_point_is_taken_again(point: str, nth: int, by: str, seed: int, tmp_path: Path) -> None:
    rng = Random(f"{seed}/{point}/{nth}")
    many = Many(seed + nth, 12)
    tables = tables_of(many, rng)
    one_run(tmp_path / "one", tables, many.policies())
    batches = [batch for batch in cut(tables, rng, 0) if any(batch.values())]
    died = 0
    stream = stream_of(tmp_path, many.policies(), 0)
    number = 0
    while number < len(batches):
        fault_points.arm(point, nth, die)
        try:
            take(stream, number, batches[number], tables)
        except DeathError:
            died += 1
            fault_points.disarm()
            # Whoever comes next takes the batch that is not noted as done.
            if by == "another process":
                stream = stream_of(tmp_path, many.policies(), 0)
            take(stream, number, batches[number], tables)
        number += 1
    fault_points.disarm()
    # Whatever was committed last, its outputs may still have to appear.
    stream = stream_of(tmp_path, many.policies(), 0)
    empty = frames({name: [] for name in TIME})
    stream.advance(batch_rows_of(empty, stream.settings.policies, stream.settings.buckets), AS_OF)
    check(tmp_path, f"seed {seed}, {point} {nth}, died {died} times")
    assert died or nth > 1
    named = {file.name for number in range(3) for file in manifest_files(stream, number)}
    there = {file.name for file in (tmp_path / "state" / "buckets").iterdir()}
    CorrelateBatches(stream.state, stream.out, stream.settings).last  # noqa: B018 - it sweeps when it opens
    swept = {file.name for file in (tmp_path / "state" / "buckets").iterdir()}
    assert named <= swept <= there
    assert list((tmp_path / "out" / "_writing").iterdir()) == []


def test_results_that_nobody_has_published_appear_although_another_batch_was_committed(
    seed: int, tmp_path: Path
) -> None:
    many = Many(seed, 6)
    tables = tables_of(many, Random(seed))
    stream = stream_of(tmp_path, many.policies(), 0)
    fault_points.arm("batch_committed", 1, die)
    with pytest.raises(DeathError):
        take(stream, 0, tables, tables)
    fault_points.disarm()
    state = stream.state
    first = state.read(0)
    state.commit(structs.replace(first, sequence=1, batch=1, run="000000000001-x", files={}))
    stream = stream_of(tmp_path, many.policies(), 0)
    assert stream.last is not None
    assert stream.last.sequence == 1
    there = {file.name for name in first.files for file in (tmp_path / "out" / name).iterdir()}
    assert there == {file.name for files in first.files.values() for file in files}


def take(stream: CorrelateBatches, number: int, batch: Tables, tables: Tables) -> None:
    stream.take(number, frames(batch) | {"starts": frame("starts", tables["starts"])})


def manifest_files(stream: CorrelateBatches, back: int) -> list[Path]:
    assert stream.last is not None
    sequence = stream.last.sequence - back
    if sequence < 0:
        return []
    return [Path(file.name) for file in stream.state.read(sequence).buckets.values()]


def test_second_stream_on_a_state_is_refused_at_its_commit(seed: int, tmp_path: Path) -> None:
    many = Many(seed, 3)
    tables = tables_of(many, Random(seed))
    one, other = (stream_of(tmp_path, many.policies(), 0) for _ in range(2))
    assert one.last is other.last is None
    take(one, 0, tables, tables)
    with pytest.raises(InputError, match="another stream has committed batch 0"):
        take(other, 0, tables, tables)
    assert one.state.latest() is not None


def test_manifest_that_cannot_be_read_is_named(seed: int, tmp_path: Path) -> None:
    many = Many(seed, 1)
    tables = tables_of(many, Random(seed))
    take(stream_of(tmp_path, many.policies(), 0), 0, tables, tables)
    manifest = tmp_path / "state" / "_committed" / "000000000000.json"
    manifest.write_text(manifest.read_text().replace('"version":1', '"version":9'))
    with pytest.raises(InputError, match=r"000000000000\.json was written by a newer Conjoin"):
        take(stream_of(tmp_path, many.policies(), 0), 1, tables, tables)
    manifest.write_text("{")
    with pytest.raises(InputError, match=r"000000000000\.json is no manifest of a state"):
        take(stream_of(tmp_path, many.policies(), 0), 1, tables, tables)
