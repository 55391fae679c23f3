"""State, results and checkpoint belong together: one of them alone is refused before a row is lost or taken twice."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conjoin.errors import InputError
from conjoin.pipeline.session.session import spark_says
from tests.pipeline.streaming.test_on_spark import Feed, message, run, waiting

pytestmark = pytest.mark.spark

TWO = "messages", "subscriptions"


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    feed = Feed(spark, tmp_path / "stream")
    feed(subscriptions=[waiting("a", 0)], messages=[message(1, "a", 10), message(2, "a", 20)])
    return feed


def test_a_state_that_is_gone_is_missed_by_its_results_and_its_checkpoint(feed: Feed) -> None:
    checkpoint = str(feed.folder / "checkpoint")
    run(feed.stream(*TWO), checkpoint=checkpoint)
    (feed.folder / "state").rename(feed.folder / "elsewhere")
    with pytest.raises(InputError, match="has the results of another state"):
        run(feed.stream(*TWO), checkpoint=checkpoint)
    (feed.folder / "out").rename(feed.folder / "old results")
    with pytest.raises(
        InputError, match=r"has read 1 batches, and .*state knows nothing: the rows between would be lost"
    ):
        run(feed.stream(*TWO), checkpoint=checkpoint)
    # Nothing was begun in its place.
    assert run(feed.stream(*TWO))[0].rows == 3


def test_a_state_from_an_old_backup_is_refused(feed: Feed) -> None:
    run(feed.stream(*TWO))
    feed(messages=[message(3, "a", 30)])
    run(feed.stream(*TWO))
    (feed.folder / "state" / "_committed" / "000000000001.json").unlink()
    with pytest.raises(InputError, match=r"has read 2 batches, and .* knows 1 of them"):
        run(feed.stream(*TWO))


def test_a_checkpoint_that_is_gone_is_refused_unless_sources_repeat_nothing(feed: Feed) -> None:
    run(feed.stream(*TWO))
    (feed.folder / "state" / "_checkpoint").rename(feed.folder / "old checkpoint")
    with pytest.raises(InputError, match=r"goes on from another checkpoint .* \(--new-checkpoint\)"):
        run(feed.stream(*TWO))
    for table in TWO:
        (feed.folder / table / "001.jsonl").unlink()
    feed(messages=[message(3, "a", 30)])
    [report] = run(feed.stream(*TWO), new_checkpoint=True)
    assert (report.sequence, report.rows) == (1, 1)
    feed(messages=[message(4, "a", 40)])
    assert [report.sequence for report in run(feed.stream(*TWO))] == [2]


def test_what_a_batch_has_raised_is_told_in_one_line(feed: Feed) -> None:
    stream = feed.stream(*TWO)

    def fail(_: object) -> None:
        raise InputError(["nobody wants this"])

    with pytest.raises(Exception, match="nobody wants this") as raised:
        stream.start(once=True, on_batch=fail).awaitTermination()
    assert spark_says(raised.value) == "nobody wants this"
    assert [str(failure) for failure in stream.failures] == ["nobody wants this"]


def test_a_plain_path_on_a_cluster_is_refused(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conjoin.pipeline.streaming.stream.local_cores", lambda _: None)
    with pytest.raises(InputError, match="on a cluster each machine has a folder of this name of its own"):
        feed.stream(*TWO).batches  # noqa: B018 - it looks for the places
    shared = {name: f"file://{feed.folder / name}" for name in ("state", "out")}
    stream = feed.stream(*TWO, **shared)
    with pytest.raises(InputError, match=r"checkpoint: .*on a cluster each machine has a folder of this name"):
        stream.check(str(feed.folder / "checkpoint"))
    stream.check(f"file:{feed.folder / 'checkpoint'}")


@pytest.mark.parametrize("scheme", ["s3a://bucket", "wasbs://c@a.blob.core.windows.net", "dbfs:"])
def test_a_checkpoint_that_cannot_be_read_here_is_refused(feed: Feed, scheme: str) -> None:
    with pytest.raises(InputError, match=f"checkpoint: {scheme}/place is on no file system that pyarrow knows"):
        feed.stream(*TWO).start(f"{scheme}/place", once=True)
    assert not (feed.folder / "state" / "_committed" / "000000000000.json").exists()


def test_a_query_is_named_once(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be read for a moment changes nothing for the batches of a query that runs."""
    names = iter(["the first"])
    monkeypatch.setattr("conjoin.pipeline.streaming.stream.known_id", lambda _: next(names))
    stream = feed.stream(*TWO)
    query = stream.start()
    try:
        query.processAllAvailable()
        feed(messages=[message(3, "a", 30)])
        query.processAllAvailable()
    finally:
        query.stop()
    assert stream.batches.last is not None
    assert (stream.batches.last.batch, stream.batches.last.checkpoint) == (1, "the first")
