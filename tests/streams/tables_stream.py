"""A stream of tables in a process of its own: `python -m tests.streams.tables_stream FOLDER` takes all and ends.

FOLDER/messages/*.jsonl, FOLDER/subscriptions/*.jsonl -> FOLDER/state, FOLDER/out
"""

import sys
from pathlib import Path

from conjoin.pipeline import correlate_stream, spark_session
from conjoin.pipeline.session.session import spark_errors
from tests.pipeline.many import SCHEMAS

FILES_A_BATCH = 2


def main(folder: str) -> None:
    spark = spark_session("tables-stream")

    def stream_of(table: str) -> object:
        reader = spark.readStream.schema(SCHEMAS[table]).option("maxFilesPerTrigger", FILES_A_BATCH)
        return reader.json(str(Path(folder) / table))

    streams = {table: stream_of(table) for table in ("messages", "subscriptions")}
    places = {"state": f"{folder}/state", "out": f"{folder}/out"}
    with spark_errors():
        correlate_stream(**streams, **places, lateness="10m", buckets=8).start(once=True).awaitTermination()  # type: ignore[arg-type]


if __name__ == "__main__":
    main(sys.argv[1])
