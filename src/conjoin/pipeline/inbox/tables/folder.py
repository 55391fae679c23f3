"""Where an inbox that is a table lies, run by run: a folder of Parquet files, or a Delta table.

    <folder>/_runs/000000000042.json              what the inbox is after a run; that it exists is the commit
    <folder>/messages/000000000042-*/*.parquet    its rows; they are never changed, and go some runs later

Of two processes that go on from the same run the second is refused at its commit, and nothing of it counts; its next
one goes on from the other's. A run that dies has left files that nobody names.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import msgspec
from pyarrow import fs
from pyspark.errors import PySparkException

from conjoin.errors import InputError, StoreFailed
from conjoin.fault_points import passing
from conjoin.pipeline.correlate.writing.run_folder import filesystem_of
from conjoin.pipeline.session.session import path_of, spark_errors
from conjoin.runtime.inbox.metrics import Counts
from conjoin.shown_urls import shown_url

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RUNS, _MESSAGES = "_runs", "messages"
_KEPT = 3
"""So many runs stay with their files: somebody may be reading them."""
_RECENT = 20
"""So many commits of a Delta table at most come between one of ours and the look for it."""
_NO_TABLE = (
    *("DELTA_TABLE_ONLY_OPERATION", "DELTA_MISSING_DELTA_TABLE"),
    *("DELTA_PATH_DOES_NOT_EXIST", "DELTA_TABLE_NOT_FOUND"),
)
_COUNTED = ("persisted", "dead_lettered", "correlated", "decode_error", "mapping_error", "target_error", "expired")
"""Outcomes of rows, as the counters of an inbox are called."""


class InboxTableRun(msgspec.Struct, frozen=True):
    """`due_at`: when something is due next, if nothing arrives; `seen` tells what had arrived. Microseconds."""

    number: int
    at: int
    files: str
    counts: dict[str, int]
    due_at: int | None = None
    seen: str = ""


class InboxTable(Protocol):
    def read(self) -> "DataFrame | None":
        """As the last run has left it; None before the first."""

    def is_idle(self, now: int, seen: str) -> bool:
        """Is it known, without a job, that a run would change nothing?"""

    def write(self, inbox: "DataFrame", at: int, seen: str) -> Counts:
        """The commit of a run."""


class ParquetInbox:
    """`seen` is empty where nobody knows what has arrived."""

    def __init__(self, spark: "SparkSession", path: str) -> None:
        self._spark = spark
        self._path = path_of(spark, path).rstrip("/")
        found = filesystem_of(self._path)
        if found is None:
            raise InputError([f"{shown_url(path)} is on no file system that pyarrow knows"])
        self._filesystem, self._place = found
        self._base = -1
        """The run that was read last: what is written goes on from it, whatever others have made meanwhile."""

    def last(self) -> InboxTableRun | None:
        numbers = self._numbers()
        return self._run(max(numbers)) if numbers else None

    def read(self) -> "DataFrame | None":
        last = self.last()
        if last is None:
            return None
        self._base = last.number
        return self._spark.read.parquet(f"{self._path}/{_MESSAGES}/{last.files}")

    def is_idle(self, now: int, seen: str) -> bool:
        last = self.last()
        return last is not None and bool(seen) and last.seen == seen and (last.due_at is None or last.due_at > now)

    def write(self, inbox: "DataFrame", at: int, seen: str) -> Counts:
        number = self._base + 1
        files = f"{number:012}-{uuid4().hex[:8]}"
        found = written(inbox, f"{self._path}/{_MESSAGES}/{files}", "parquet")
        due_at = found.pop("due_at")
        counts = {word: found[word] for word in _COUNTED if found[word]}
        self._commit(InboxTableRun(number, at, files, counts, due_at, seen))
        self._base = number
        self._sweep(number)
        return Counts(**counts)

    def _commit(self, run: InboxTableRun) -> None:
        passing("batch_written")
        self._filesystem.create_dir(f"{self._place}/{_RUNS}")
        if not put_if_absent(self._filesystem, self._record(run.number), msgspec.json.encode(run)):
            raise StoreFailed(
                f"another process has made run {run.number} of the inbox {self._path}; nothing of this one counts"
            )

    def _sweep(self, number: int) -> None:
        """Old runs with their files. What dead runs of later numbers have left goes with theirs."""
        for old in [it for it in self._numbers() if it <= number - _KEPT]:
            for info in self._listed(_MESSAGES):
                if info.base_name.startswith(f"{old:012}-"):
                    self._filesystem.delete_dir(info.path)
            self._filesystem.delete_file(self._record(old))

    def _numbers(self) -> list[int]:
        names = (info.base_name.removesuffix(".json") for info in self._listed(_RUNS))
        return [int(name) for name in names if name.isdigit()]

    def _listed(self, inside: str) -> list[fs.FileInfo]:
        where = fs.FileSelector(f"{self._place}/{inside}", allow_not_found=True)
        found: list[fs.FileInfo] = self._filesystem.get_file_info(where)
        return found

    def _record(self, number: int) -> str:
        return f"{self._place}/{_RUNS}/{number:012}.json"

    def _run(self, number: int) -> InboxTableRun:
        with self._filesystem.open_input_stream(self._record(number)) as stream:
            return msgspec.json.decode(stream.read(), type=InboxTableRun)


class DeltaInbox:
    """A table of Delta Lake. Of two runs that go on from one version the second changes nothing: Delta knows by the
    number of a transaction that it has it."""

    def __init__(self, spark: "SparkSession", path: str) -> None:
        self._spark = spark
        self._path = path_of(spark, path)
        self._version = -1

    def read(self) -> "DataFrame | None":
        found = filesystem_of(self._path)
        if found is not None and found[0].get_file_info(f"{found[1]}/_delta_log").type == fs.FileType.NotFound:
            return None
        try:
            [newest] = self._spark.sql(f"describe history delta.`{self._path}` limit 1").collect()
        except PySparkException as error:
            # Where pyarrow cannot look, Delta says that there is none yet.
            if error.getCondition() in _NO_TABLE:
                return None
            raise
        self._version = newest.version
        return self._spark.read.format("delta").option("versionAsOf", newest.version).load(self._path)

    def is_idle(self, now: int, seen: str) -> bool:
        return False

    def write(self, inbox: "DataFrame", at: int, seen: str) -> Counts:
        run = f"conjoin inbox {uuid4().hex}"
        transaction = {"txnAppId": "conjoin inbox", "txnVersion": str(self._version + 1), "userMetadata": run}
        found = written(inbox, self._path, "delta", transaction, lambda: self._has_commit_of(run))
        return Counts(**{word: found[word] for word in _COUNTED})

    def _has_commit_of(self, run: str) -> bool:
        commits = self._spark.sql(f"describe history delta.`{self._path}` limit {_RECENT}")
        return any(row.userMetadata == run for row in commits.collect())


def written(
    inbox: "DataFrame",
    path: str,
    kind: str,
    options: Mapping[str, str] = MappingProxyType({}),
    was_written: Callable[[], bool] = lambda: True,
) -> dict[str, Any]:
    """Writes it, and counts on the way what came of its rows; `due_at` is the earliest. 0 if nothing was written."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    seen = Observation(f"inbox {uuid4().hex}")
    words = [F.count_if(F.col("outcome") == word).alias(word) for word in _COUNTED]
    observed = inbox.observe(seen, F.min(F.unix_micros("due_at")).alias("due_at"), *words)
    nothing: dict[str, Any] = {"due_at": None, **dict.fromkeys(_COUNTED, 0)}
    with spark_errors():
        observed.write.format(kind).options(**options).mode("overwrite").save(path)
        # What was not carried out is never observed: one would wait for ever.
        return nothing | seen.get if was_written() else nothing


def put_if_absent(filesystem: fs.FileSystem, place: str, content: bytes) -> bool:
    """Whole or not at all. On an object store two that look at the same time do not see each other."""
    staged = f"{place}.{uuid4().hex}"
    if not isinstance(filesystem, fs.LocalFileSystem):
        if filesystem.get_file_info(place).type != fs.FileType.NotFound:
            return False
        with filesystem.open_output_stream(staged) as stream:
            stream.write(content)
        filesystem.move(staged, place)
        return True
    with Path(staged).open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(staged, place)  # unlike a rename it fails where there is one
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            Path(staged).unlink()
    return True
