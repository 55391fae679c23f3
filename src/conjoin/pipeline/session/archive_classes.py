"""`python -m conjoin.pipeline.session.archive_classes`: an archive of Spark's classes, beside the Python that runs.

Java reads it at once, so that Spark starts in half the time, and so does its first job. `make setup` makes it.
"""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import SparkContext

from conjoin.errors import ConjoinError, InputError
from conjoin.pipeline.correlate.job import TableJob, run_job
from conjoin.pipeline.session.class_archive import ARCHIVE, QUIET
from conjoin.pipeline.session.session import FOR_A_SHORT_JOB, session
from conjoin.settings import Settings

_DAY = "2026-03-02T08:00:00Z"
_PAID = {"name": ["Paid"], "correlation_key": ["order-1"]}
_TABLES = {
    "messages": {**_PAID, "published_at": [_DAY], "position": [1], "variables": ["{}"]},
    "subscriptions": {**_PAID, "process_id": ["order"], "opened_at": [_DAY]},
    "starts": {"name": ["Placed"], "process_id": ["shop"]},
}


def make_archive() -> Path:
    """Correlates three rows, with a Java that writes down at its end what it has loaded."""
    ARCHIVE.parent.mkdir(parents=True, exist_ok=True)
    ARCHIVE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=ARCHIVE.parent, prefix=".making-") as folder:
        made = Path(folder, ARCHIVE.name)
        for name, columns in _TABLES.items():
            Path(folder, name).mkdir()
            pq.write_table(pa.table(columns), Path(folder, name, "part.parquet"))
        inputs = {name: (str(Path(folder, name)),) for name in _TABLES}
        java_options = f'"-XX:ArchiveClassesAtExit={made}" {QUIET} {FOR_A_SHORT_JOB}'
        spark = session(Settings(master="local[2]"), "class archive", java_options)
        run_job(spark, TableJob(inputs=inputs, out=str(Path(folder, "out"))), lambda _: None)
        java = SparkContext._gateway.proc  # type: ignore[union-attr]
        spark.stop()
        # Java ends with this, and has written the archive when it is gone.
        java.stdin.close()
        java.wait()
        if not made.exists():
            raise InputError(["this Java writes none (it has no archive of its own classes to build on)"])
        made.replace(ARCHIVE)
    return ARCHIVE


def main() -> str:
    """What came of it; it is never an error that nothing could be made."""
    try:
        return f"archived Spark's classes, {make_archive().stat().st_size // 1_000_000} MB: it starts in half the time"
    except (ConjoinError, OSError) as error:
        return f"no archive of Spark's classes: {error}; it starts as it is"


if __name__ == "__main__":
    sys.stdout.write(f"{main()}\n")
