"""What a running pipeline tells: to Prometheus, by Spark's listener, and how errors of Spark are put into words."""

import threading
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from conjoin.errors import InputError
from conjoin.pipeline import Pipeline
from conjoin.pipeline.declared.scheduling import RunningSchedule
from conjoin.pipeline.session.session import spark_says
from conjoin.pipeline.watching import PipelineFigures, QueryProgress, figures_served, listening
from conjoin.pipeline.watching.figures import address_in
from conjoin.pipeline.watching.query_listener import progress_of
from conjoin.runtime.inbox.metrics import Counts
from tests.docs.pages import DOCS
from tests.pipeline.declared.test_running import declared, lines, paid
from tests.pipeline.streaming.test_on_spark import waiting

PATIENCE_S = 60


def scraped(port: int) -> dict[tuple[str, str], float]:
    """By name and the labels beside that of the pipeline, in the order of the alphabet."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        families = list(text_string_to_metric_families(page.read().decode()))
    samples = [sample for family in families for sample in family.samples]
    assert {sample.labels.pop("pipeline") for sample in samples} == {"payments"}
    return {(sample.name, " ".join(sample.labels.values())): sample.value for sample in samples}


@pytest.mark.spark
def test_a_run_is_seen_by_prometheus(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "waiting", "1.jsonl", [waiting("a", 0), {"process_id": "order"}])
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), paid(2, "x", 11), paid(3, "c", 200)])
    figures, told = PipelineFigures("payments"), threading.Event()

    def hear(progress: QueryProgress) -> None:
        figures.hear(progress)
        told.set()

    def wait(query: Any) -> None:
        with listening(query, hear):
            query.awaitTermination()
            assert told.wait(PATIENCE_S), "Spark has told nothing"

    with figures_served(figures, "0") as port:
        Pipeline.of(declared(tmp_path)).run(spark, once=True, wait=wait, on_batch=figures.take)
        found = scraped(port)
    expected = {
        ("conjoin_pipeline_rows_total", ""): 5,
        ("conjoin_pipeline_batches_total", ""): 2,
        ("conjoin_pipeline_out_total", "correlations"): 1,
        ("conjoin_pipeline_dead_letters_total", "missing_name subscriptions"): 1,
        ("conjoin_pipeline_held_rows", "pending"): 1,
        ("conjoin_pipeline_batch_rows", ""): 3,
        ("conjoin_pipeline_verdicts_total", "nobody_waited expired"): 1,
        ("conjoin_pipeline_spark_batch", ""): 0,
    }
    assert {name: found.get(name) for name in expected} == expected
    assert found["conjoin_pipeline_latest_lag_seconds", ""] < found["conjoin_pipeline_decided_lag_seconds", ""]
    assert found["conjoin_pipeline_spark_seconds", "triggerExecution"] > 0
    text = (DOCS / "pipelines.md").read_text()
    assert [name for name, _ in found if name not in text] == []


def test_of_a_schedule_there_is_nothing_to_hear_from_spark() -> None:
    class Turns:
        def now(self) -> int:
            return 0

        next_at = now

        def everything(self) -> Counts:
            return Counts(correlated=1)

        step = everything

    told: list[Any] = []
    schedule = RunningSchedule(Turns(), True, told.append, told.append)
    with listening(schedule, told.append):
        assert schedule.awaitTermination()
    assert told == [{"correlated": 1}]


def test_what_sources_have_left_is_told_by_source() -> None:
    sources = [
        SimpleNamespace(description="KafkaV2[Subscribe[paid]]", metrics={"maxOffsetsBehindLatest": "70"}),
        SimpleNamespace(description="FileStreamSource[in]", metrics={}),
    ]
    told = SimpleNamespace(
        batchId=4, numInputRows=10, processedRowsPerSecond=float("nan"), durationMs={"addBatch": 1_500}, sources=sources
    )
    progress = progress_of(told)
    assert progress == QueryProgress(
        4, 10, 0.0, {"addBatch": 1.5}, {("KafkaV2[Subscribe[paid]]", "maxOffsetsBehindLatest"): 70}
    )
    figures = PipelineFigures("payments")
    figures.hear(progress)
    with figures_served(figures, "0") as port:
        found = scraped(port)
    assert found["conjoin_pipeline_source_behind", "KafkaV2[Subscribe[paid]] maxOffsetsBehindLatest"] == 70


def test_an_address_that_is_none_or_taken_is_one_sentence() -> None:
    assert [address_in(text) for text in ("9400", "0.0.0.0:9400", "[::]:1")] == [
        ("127.0.0.1", 9400),
        ("0.0.0.0", 9400),
        ("::", 1),
    ]
    with pytest.raises(InputError, match="--metrics: 'x' is neither PORT nor ADDRESS:PORT"):
        address_in("x")
    figures = PipelineFigures("payments")
    with (
        figures_served(figures, "0") as port,
        pytest.raises(InputError, match="cannot be listened on"),
        figures_served(figures, str(port)),
    ):
        pass


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "Job aborted\nTraceback (most recent call last):\n  File x\nValueError: no\n\n\tat org.apache",
            "ValueError: no",
        ),
        ("a\nOSError: [Errno 28] No space left on device\n", "the disk is full: No space left on device"),
        ("first\nCaused by: java.io.IOException: outer\nCaused by: inner", "inner"),
        ("only this\nand more", "only this"),
    ],
)
def test_an_error_of_spark_is_its_cause(text: str, told: str) -> None:
    assert spark_says(RuntimeError(text)) == told
