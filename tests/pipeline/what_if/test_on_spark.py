"""The same answer on Spark as in one process, through the command; and the store is left as it was."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conjoin.cli.main import run
from conjoin.pipeline.what_if.question import Question, read_changes
from conjoin.runtime.replay.replay import verify_store
from tests.pipeline.what_if.stories import Act, Telling, what_if
from tests.pipeline.what_if.test_what_if import ONE_AFTER_THE_OTHER, advance, complete, publish, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def orders(count: int) -> list[Act]:
    """Every other one is paid before it waits for that, and so never comes to wait for m2."""
    acts = [act for n in range(count) for act in (start(f"o-{n}", n), *([publish("m1", f"o-{n}")] if n % 2 else []))]
    acts += [advance(5), *(complete(n) for n in range(count))]
    for n in range(count):
        acts += [*([] if n % 2 else [publish("m1", f"o-{n}")]), publish("m2", f"o-{n}")]
    return [*acts, advance(1)]


def test_spark_says_message_by_message_what_one_process_says(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    telling = Telling({"order.bpmn": ONE_AFTER_THE_OTHER}, shards=2)
    telling.do(orders(12))
    before = [it.hash for it in verify_store(telling.broker.store)]
    expected = what_if(telling.broker, Question(0, telling.clock(), read_changes(["ttl=10m", "m1:dedup=1h"])))
    assert {it.change for it in expected} == {"same", "changed", "unknown"}
    folder, out = str(telling.broker.store.folder), tmp_path / "what-if"  # type: ignore[attr-defined]
    asked = ["replay", "--data", folder, "--since", "2029-12-31T00:00:00Z", "--policy", "ttl=10m"]
    assert run([*asked, "--policy", "m1:dedup=1h", "--out", str(out), "--json"]) == 0

    found = [row.asDict() for row in spark.read.parquet(str(out)).orderBy("message_key").collect()]
    assert [row.pop("published_at") is not None for row in found] == [True] * len(expected)
    assert found == [{k: v for k, v in it._asdict().items() if k != "published_at"} for it in expected]
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    counts = Counter(it.change for it in expected)
    assert {change: said[change] for change in counts} == counts
    assert sum(turn["messages"] for turn in said["turns"]) == len(expected)
    assert [it.hash for it in verify_store(telling.broker.store)] == before
    telling.broker.close()
