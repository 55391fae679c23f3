"""A state and the checkpoint beside it: which pairs go on, and which would count rows twice or lose them."""

import json
from pathlib import Path

import pytest

from conjoin.errors import InputError
from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate.writing.run_folder import filesystem_of
from conjoin.pipeline.streaming.batch_rows import batch_rows_of
from conjoin.pipeline.streaming.batches import CorrelateBatches
from conjoin.pipeline.streaming.checkpoint import check_checkpoint, checkpoint_id, known_id
from tests.pipeline.streaming.cuttings import TIME, frames, stream_of

ID = "the-query"


@pytest.fixture
def stream(tmp_path: Path) -> CorrelateBatches:
    """It knows three batches, 0 to 2."""
    stream = stream_of(tmp_path, Policies(), 0)
    for number in range(3):
        stream.take_rows(number, batch_rows_of(frames({name: [] for name in TIME}), Policies(), 5), checkpoint=ID)
    return stream


def checkpoint(folder: Path, offsets: int, commits: int) -> str:
    """As Spark leaves it after so many batches."""
    (folder / "metadata").parent.mkdir()
    (folder / "metadata").write_text(json.dumps({"id": ID}))
    for log, count in (("offsets", offsets), ("commits", commits)):
        (folder / log).mkdir()
        for number in range(count):
            (folder / log / str(number)).write_text("v1")
            (folder / log / f".{number}.crc").write_text("")
    return str(folder)


@pytest.mark.parametrize(("offsets", "commits"), [(3, 3), (3, 2), (4, 3)])
def test_a_checkpoint_that_is_where_its_state_is_goes_on(
    stream: CorrelateBatches, tmp_path: Path, offsets: int, commits: int
) -> None:
    check_checkpoint(stream, checkpoint(tmp_path / "checkpoint", offsets, commits), may_be_new=False)


@pytest.mark.parametrize(("offsets", "commits"), [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)])
def test_a_checkpoint_from_an_older_backup_is_refused(
    stream: CorrelateBatches, tmp_path: Path, offsets: int, commits: int
) -> None:
    """Its next batches would have numbers that the state has, and other rows. The last of these is one batch behind,
    which is as it should be, but the rows of that batch were not chosen yet."""
    place = checkpoint(tmp_path / "checkpoint", offsets, commits)
    for may_be_new in (False, True):
        with pytest.raises(InputError, match=f"knows 3 batches, and .* has read {commits}: it was restored from an ol"):
            check_checkpoint(stream, place, may_be_new)


def test_a_checkpoint_that_has_read_more_than_the_state_knows_is_refused(
    stream: CorrelateBatches, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"has read 4 batches, and .* knows 3 of them"):
        check_checkpoint(stream, checkpoint(tmp_path / "checkpoint", 4, 4), may_be_new=False)


def test_a_query_without_a_name_that_can_be_read_takes_no_batch(tmp_path: Path) -> None:
    assert checkpoint_id(str(tmp_path / "none yet")) is None
    for place in (str(tmp_path / "none yet"), "dbfs:/checkpoint", "s3a://bucket/checkpoint"):
        with pytest.raises(InputError, match=f"checkpoint: {place} has no file metadata that can be read"):
            known_id(place)
    assert known_id(checkpoint(tmp_path / "checkpoint", 0, 0)) == ID


@pytest.mark.parametrize("address", ["file:{}", "file://{}"])
def test_an_address_of_this_machine_is_no_folder_of_that_name(tmp_path: Path, address: str) -> None:
    found = filesystem_of(address.format(tmp_path))
    assert found is not None
    assert found[1] == str(tmp_path)
    assert filesystem_of("dbfs:/tmp") is None
