"""Checkpoints: what Spark has read, beside what a state knows. Rows between the two would count twice, or be lost.

Spark notes what a batch will read (`offsets`) before it begins, and that it is done (`commits`) when the state has it.
So a state is where its checkpoint is, or one batch ahead, whose rows Spark has noted.
"""

from typing import Any

import msgspec
from pyarrow import fs

from conjoin.errors import InputError
from conjoin.pipeline.correlate.writing.run_folder import filesystem_of
from conjoin.pipeline.streaming.batches import CorrelateBatches


def checkpoint_id(path: str) -> str | None:
    """What Spark calls the query of a checkpoint; None before its first start."""
    found = filesystem_of(path)
    if found is None:
        return None
    filesystem, place = found
    try:
        with filesystem.open_input_stream(f"{place}/metadata") as stream:
            content: dict[str, Any] = msgspec.json.decode(stream.read())
    except FileNotFoundError:
        return None
    except msgspec.DecodeError:
        raise InputError([f"{path} is no checkpoint of Spark: its file metadata cannot be read"]) from None
    return str(content["id"])


def known_id(path: str) -> str:
    """The same while its query runs: Spark has named it before the first batch."""
    found = checkpoint_id(path)
    if found is None:
        raise InputError([f"checkpoint: {path} has no file metadata that can be read, in which Spark names its query"])
    return found


def _last(path: str, log: str) -> int:
    """The last batch that Spark has noted; -1: none."""
    found = filesystem_of(path)
    if found is None:
        return -1
    filesystem, place = found
    entries = filesystem.get_file_info(fs.FileSelector(f"{place}/{log}", allow_not_found=True))
    return max((int(entry.base_name) for entry in entries if entry.base_name.isdigit()), default=-1)


def check_checkpoint(batches: CorrelateBatches, place: str, may_be_new: bool) -> None:
    """Raises where rows would be taken twice, or never. `may_be_new`: the sources repeat nothing."""
    last, path = batches.last, batches.state.path
    mine, read, planned = checkpoint_id(place), _last(place, "commits"), _last(place, "offsets")
    if last is not None and last.checkpoint and last.checkpoint != mine:
        if may_be_new:
            return
        told = f"{path} goes on from another checkpoint than {place}: rows that it has would be taken again"
        raise InputError([f"{told}; new_checkpoint (--new-checkpoint) says that the sources repeat none of them"])
    known = -1 if last is None or last.batch is None or not last.checkpoint else last.batch
    if known < read:
        what = "nothing" if known < 0 else f"{known + 1} of them"
        told = f"{place} has read {read + 1} batches, and {path} knows {what}: the rows between would be lost"
        raise InputError([f"{told}; restore that state, or begin with a new checkpoint and a new state"])
    if known > min(read + 1, planned):
        told = (
            f"{path} knows {known + 1} batches, and {place} has read {read + 1}: it was restored from an older backup"
        )
        told = f"{told}, and what it reads next would count as taken"
        raise InputError([f"{told}; restore the checkpoint of that state, or the state of that time"])
