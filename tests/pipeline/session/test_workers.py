"""Spark's Python workers run functions of others after ours, and these find them as they were."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from conjoin.errors import SparkFailed
from conjoin.kernel.policies import Policies
from conjoin.pipeline import correlate, register
from conjoin.pipeline.session import worker
from conjoin.runtime.opening import create_broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def state(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a function of somebody else's finds."""
    import decimal
    import gc
    import locale
    import logging
    import os
    import signal
    import socket
    import sys
    import threading
    import warnings
    import zipimport

    found = {
        "collector": (gc.get_threshold(), gc.isenabled(), gc.callbacks),
        "environment": sorted(os.environ.items()),
        "folder": os.getcwd(),  # noqa: PTH109 - as others ask
        "decimals": decimal.getcontext(),
        "locale": locale.setlocale(locale.LC_ALL),
        "logs": (logging.root.level, logging.root.handlers),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)],
        "sockets": socket.getdefaulttimeout(),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval()),
        "hooks": (sys.excepthook.__module__, threading.excepthook.__module__),
        "imports": zipimport.zipimporter.invalidate_caches.__module__,
        "warnings": len(warnings.filters) > 0,
    }
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"pid": [os.getpid()], "name": [repr(sorted(found.items()))]})


def states(spark: "SparkSession") -> dict[int, str]:
    rows = spark.range(0, 4, 1, 4).mapInArrow(state, "pid long, name string").collect()
    return {row.pid: row.name for row in rows}


def test_functions_of_others_find_workers_as_they_were(spark: "SparkSession", tmp_path: Path) -> None:
    before = states(spark)
    waiting = spark.sql("select 'p' process_id, 'paid' name, 'k' correlation_key, timestamp'2026-01-01' opened_at")
    messages = spark.sql("select 'paid' name, 'k' correlation_key, timestamp'2026-01-02' published_at")
    with correlate(messages, waiting) as result:
        assert result.verdicts.count() == 1
        result.write(str(tmp_path / "out"))
    register(spark)
    with closing(create_broker(tmp_path / "store", 2)):
        rows = spark.range(40).repartition(4).selectExpr("id", "'paid' as name", "cast(id as string) as key")
        options = {"path": str(tmp_path / "store"), "source": "orders", "position": "id"}
        rows.write.format("conjoin").options(**options).mode("append").save()
    after = states(spark)
    assert set(before) & set(after), "the same workers are asked"
    assert set(after.values()) == set(before.values())


def test_a_worker_with_the_source_refuses_what_a_compiled_driver_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it reads any record: of another layout it would read wrong ones, or fail without saying why."""
    policies = Policies()

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        assert policies
        yield from batches

    monkeypatch.setattr(worker, "runs_as", "compiled")
    sent = cloudpickle.dumps(worker.in_worker(task))
    assert list(cloudpickle.loads(sent)([])) == []
    monkeypatch.setattr(worker, "runs_as", "pure Python: the compiled modules are older than the sources")
    with pytest.raises(SparkFailed, match="driver's conjoin is compiled, and that of a worker pure Python: install"):
        cloudpickle.loads(sent)
