"""A client of Spark on a machine where tasks are tried four times. Its workers die where CONJOIN_FAULT says.

    CONJOIN_FAULT=written:2 python -m tests.faults.spark_client STORE HISTORY COUNT

Prints how many of the rows were taken by a task that did not live to tell.
"""

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from conjoin.pipeline.session.java import ensure_java
from conjoin.pipeline.spark_runner import SparkRunner
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.testing.checking import HistoryFile, RequestAnswered
from tests.faults.task_writer import Task, asked_of
from tests.faults.writer import BEGIN_US

_MASTER = "local[2,4]"
"""Two at once, and four attempts of each."""


def main(store: str, history: Path, count: int) -> None:
    ensure_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    here: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    spark = SparkSession.builder.master(_MASTER).config(map=here).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    asked = asked_of(Task(store, history, count, 1))
    try:
        runner = SparkRunner(spark, store, 1, lambda: BEGIN_US)
        replies = runner.ask_many([(0, NewMessage(**request.details)) for request in asked])
    finally:
        spark.stop()
    with closing(HistoryFile(history)) as file:
        for request, reply in zip(asked, replies, strict=True):
            if not reply.repeated:
                file.answered(RequestAnswered(request.request, "done", {"key": reply.key}))
    sys.stdout.write(f"{sum(reply.repeated for reply in replies)}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
