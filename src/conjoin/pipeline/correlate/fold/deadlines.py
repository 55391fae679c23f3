"""Deadlines: those of all messages of a batch at once. The kernel is asked once for each name and time to live."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.kernel.correlation.messages import deadline_of
from conjoin.kernel.instants import NEVER
from conjoin.kernel.policies import Policy

LAST_DAY = 253_402_300_799_999_999
"""The end of the year 9999: what "never" looks like in a table of timestamps."""

BEYOND = NEVER - 1
"""Stands for a deadline beyond the calendar, which is asked for one by one."""


def deadlines_of(
    batch: pa.RecordBatch, publish: np.ndarray, at: np.ndarray, names: np.ndarray, by_name: list[Policy]
) -> np.ndarray:
    """Of the rows that are messages; `names` are places in `by_name`."""
    column = filled(batch, "until")
    lives: list[int | None] = [None]
    life = np.zeros(batch.num_rows, dtype=np.int64)
    if column is not None:
        encoded = column.dictionary_encode()
        lives = [*encoded.dictionary.to_pylist(), None]
        life = pc.fill_null(encoded.indices, len(lives) - 1).to_numpy().astype(np.int64)
    met, places = distinct(life[publish] * len(by_name) + names[publish])
    spans = [deadline_of(0, lives[one // len(by_name)], by_name[one % len(by_name)]) for one in met.tolist()]
    return later_by(at[publish], np.array(spans, dtype=np.int64)[places])


def later_by(at: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Instants so much later; the end of time stays, and what lies beyond the calendar is told by an instant there."""
    far = (spans > LAST_DAY) | (at > LAST_DAY)
    later = np.where(far, BEYOND, np.where(far, 0, at) + np.where(far, 0, spans))
    return np.where(spans == NEVER, NEVER, later)


def distinct(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different numbers, and which of them each row has. By a hash: sorting the rows costs five times as much."""
    encoded = pa.array(numbers).dictionary_encode()
    return encoded.dictionary.to_numpy(), encoded.indices.to_numpy()


def filled(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """A column with something in it, or None."""
    place = batch.schema.get_field_index(name)
    if place < 0:
        return None
    column = batch.column(place)
    return None if column.null_count == len(column) else column
