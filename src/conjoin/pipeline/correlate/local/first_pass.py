"""The first pass without Spark, over tables in memory: the same is found, as columns are read by the same texts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.errors import ConjoinError
from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import TABLES, TIMES, Types, read_column, types_of
from conjoin.pipeline.correlate.correlate import read_instant
from conjoin.pipeline.correlate.correlated import FirstPass
from conjoin.pipeline.correlate.local.frame import LocalFrame
from conjoin.pipeline.correlate.local.not_local import NotLocal
from conjoin.pipeline.correlate.local.reading import Allowance, read_locally
from conjoin.pipeline.files.listing import files_here, one_format

if TYPE_CHECKING:
    from conjoin.pipeline.correlate.job import TableJob


def look_over_files(job: "TableJob") -> FirstPass | None:
    """Of a short job, which Spark's own start outweighs. None: that is Spark's, as it may find something else."""
    try:
        if not job.is_short or not all(_is_parquet(name, path) for name, paths in job.inputs.items() for path in paths):
            return None
        whole = Allowance(None, None)
        tables = {name: read_locally(name, paths, whole, job.names).rows for name, paths in job.inputs.items() if paths}
        types: dict[str, Any] = {name: types_of(frame) for name, frame in tables.items()}  # type: ignore[arg-type]
        return look_over(tables, types, read_instant(job.as_of, "as_of"), False)
    except (NotLocal, ConjoinError, OSError):
        # What is wrong with the tables is told by whoever reads them for good.
        return None


def _is_parquet(table: str, path: str) -> bool:
    files = files_here(table, path)
    return files is not None and one_format(table, path, files) == "parquet"


def look_over(
    tables: Mapping[str, LocalFrame], types: Mapping[str, Types], as_of: int | None, unique_positions: bool
) -> FirstPass:
    starts: list[dict[str, Any]] = []
    if "starts" in tables:
        usable: Any = events.usable_starts(tables["starts"])  # type: ignore[arg-type]
        starts = usable.batch().to_pylist()
    messages, kinds = tables["messages"], types["messages"]
    repeated = 0
    if "position" in kinds and not unique_positions:
        _, counts = np.unique(positions(messages, kinds)[1], return_counts=True)
        repeated = int(np.count_nonzero(counts > 1))
    longest = None
    if "variables" in kinds:
        longest = pc.max(pc.binary_length(messages.value(read_columns("messages", kinds)["variables"]))).as_py()
    return FirstPass(_latest(tables, types) if as_of is None else as_of, starts, repeated, longest)


def read_columns(table: str, types: Types) -> dict[str, str]:
    """How each column of the table is read."""
    return {contract.name: read_column(contract, types).value for contract in TABLES[table]}


def positions(messages: LocalFrame, types: Types) -> tuple[np.ndarray, np.ndarray]:
    """The rows that have a position, and these."""
    given = messages.value(read_columns("messages", types)["position"])
    present = np.flatnonzero(given.is_valid().to_numpy(zero_copy_only=False))
    return present, given.take(pa.array(present)).cast(pa.int64()).to_numpy()


def _latest(tables: Mapping[str, LocalFrame], types: Mapping[str, Types]) -> int:
    latest = [0]
    for name in tables.keys() & TIMES.keys():
        read = read_columns(name, types[name])
        found = (pc.max(tables[name].value(read[column])).as_py() for column in TIMES[name])
        latest += [instant for instant in found if instant is not None]
    return max(latest)
