"""make run: makes the tables of a shop's day, correlates them on Spark in this machine, and says what came of it."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from conjoin.cli.progress import progress
from conjoin.errors import ConjoinError
from conjoin.pipeline.session.session import FOR_A_SHORT_JOB, session
from conjoin.settings import load

if TYPE_CHECKING:
    from conjoin.pipeline.correlate.correlated import FirstPass
    from conjoin.pipeline.correlate.job import TableJob

MESSAGES = 100_000
MANY = 1_000_000
FOLDER = Path("output/order-to-cash")
NEXT = """
What to try next, after `. .venv/bin/activate`:
  conjoin serve --demo          a server with live traffic: open http://localhost:8080
  pytest examples/your_model    a BPMN model in a test, without a server
  python -m examples.tables     correlate tables of your own
"""


def main() -> None:
    count = int(os.environ.get("MESSAGES") or MESSAGES)
    with progress() as step, ThreadPoolExecutor(1) as beside:
        step(f"starting Spark, and making tables in {FOLDER / 'in'}")
        made = beside.submit(job_of, count)
        spark = session(load(), "order to cash", FOR_A_SHORT_JOB if count < MANY else "")
        job, first = made.result()
    print(
        f"A shop's day: {count:,} messages such as 'Money collected', and {count:,} subscriptions that wait for them."
    )
    from conjoin.cli.spark.correlate import run_and_close

    run_and_close(spark, job, first)
    print(NEXT.rstrip())


def job_of(count: int) -> "tuple[TableJob, FirstPass | None]":
    """Its tables made and looked over, and all imported that it needs: Java takes seconds to start."""
    from conjoin.cli.spark import correlate  # noqa: F401
    from conjoin.pipeline.correlate.job import TableJob
    from conjoin.pipeline.correlate.local.first_pass import look_over_files
    from examples.order_to_cash.tables import TABLES, write_tables

    write_tables(FOLDER / "in", count)
    inputs = {name: (str(FOLDER / "in" / name),) for name in TABLES}
    job = TableJob(inputs=inputs, out=str(FOLDER / "out"), overwrite=True)
    return job, look_over_files(job)


if __name__ == "__main__":
    try:
        main()
    except ConjoinError as error:
        sys.exit(f"order to cash: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
