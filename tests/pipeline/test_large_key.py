"""One key with many messages is streamed: its rows are handed over in slices, batch by batch, none of them lost."""

import numpy as np
import pyarrow as pa
import pytest

from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate.fold.fold import BATCH_ROWS, FoldPlan, PartitionFold
from conjoin.pipeline.correlate.fold.packed_batches import COUNTS, PackedSink, unpacked
from conjoin.pipeline.correlate.fold.walk import MANY
from conjoin.pipeline.correlate.results import REMEMBERED, VERDICTS
from conjoin.pipeline.correlate.shape import PUBLISH, SHAPE, Layout

ARROW = {"tinyint": pa.int8(), "bigint": pa.int64(), "string": pa.string(), "boolean": pa.bool_()}
BATCH = 7_000
BATCHES = 9
COLUMNS = {"name": "name", "correlation_key": "key", "published_at": "at", "message_id": "id", "position": "position"}


def batch(number: int, ttl_ms: int) -> pa.RecordBatch:
    """The next messages of the one key."""
    position = np.arange(number * BATCH, (number + 1) * BATCH)
    known = {
        "kind": pa.array(np.full(BATCH, PUBLISH, np.int8)),
        "at": pa.array(position * 1_000),
        "key": pa.array(["hot"] * BATCH),
        "name": pa.array(["paid"] * BATCH),
        "id": pa.array([f"m-{n}" for n in position]),
        "until": pa.array(np.full(BATCH, ttl_ms, np.int64)),
        "position": pa.array(position),
    }
    columns = {name: known.get(name, pa.nulls(BATCH, ARROW[kind])) for name, kind in SHAPE}
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize(("ttl_ms", "verdict"), [(10**9, "buffered"), (5, "expired"), (0, "discarded")])
def test_every_message_of_a_large_key_gets_its_verdict(ttl_ms: int, verdict: str) -> None:
    as_of = BATCH * BATCHES * 1_000 + 10_000
    fold = PartitionFold(FoldPlan(Layout(tuple(COLUMNS), COLUMNS, prior=False), Policies(), as_of), PackedSink())
    positions: list[int] = []
    verdicts: list[str] = []
    remembered = 0
    for packed in fold.take(batch(number, ttl_ms) for number in range(BATCHES)):
        table = packed.column("table")[0].as_py()
        for out in unpacked([packed]) if table != COUNTS else ():
            assert out.num_rows <= MANY + BATCH_ROWS
            if table == VERDICTS:
                positions += out.column(list(COLUMNS).index("position")).to_pylist()
                verdicts += out.column(len(COLUMNS)).to_pylist()
            elif table == REMEMBERED:
                remembered += out.num_rows
    assert sorted(positions) == list(range(BATCH * BATCHES))
    assert set(verdicts) == {verdict}
    assert remembered == (BATCH * BATCHES if verdict == "buffered" else 0)
