"""All figures of a store, computed by Spark through the data source; only sums and short lists are collected."""

from pyspark.sql import SparkSession

from conjoin.pipeline.report import backfill, counting, time_to_live
from conjoin.pipeline.report.figures import ReportFigures
from conjoin.pipeline.report.frames import Frames, opened_frames
from conjoin.pipeline.session.progress import Step
from conjoin.pipeline.session.session import spark_errors
from conjoin.pipeline.source.options import check_store


def collect_figures(
    spark: SparkSession, address: str, as_of_us: int, older_than_ms: int, step: Step = lambda text: None
) -> ReportFigures:
    """Ages are those at an instant; `older_than_ms` is how long somebody waits before the report asks why."""
    check_store(address)
    with spark_errors(), opened_frames(spark, address, as_of_us) as frames:
        step("reading messages and subscriptions")
        frames = frames._replace(names=counting.names_of(frames))
        return _figures(frames, older_than_ms, step)


def _figures(frames: Frames, older_than_ms: int, step: Step) -> ReportFigures:
    step("counting verdicts")
    width = counting.width_us(frames)
    volumes, hourly, kept = counting.volumes(frames), counting.hourly(frames, width), counting.kept(frames)
    step("looking for hot keys")
    hot_keys = counting.hot_keys(frames)
    step("judging times to live")
    waited, lost = time_to_live.waited(frames), time_to_live.lost(frames)
    step("asking who waits, and what arrived")
    who = backfill.who_waits(frames).persist()
    waiting, long_waits = backfill.waiting(frames, who, older_than_ms), backfill.long_waits(frames, who, older_than_ms)
    who.unpersist()
    still_open = counting.still_open(frames)
    return ReportFigures(
        as_of_us=frames.as_of_us,
        older_than_ms=older_than_ms,
        width_us=width,
        active=still_open["instances"],
        incidents=still_open["incidents"],
        volumes=volumes,
        hourly=hourly,
        kept=kept,
        hot_keys=hot_keys,
        waited=waited,
        lost=lost,
        waiting=waiting,
        long_waits=long_waits,
    )
