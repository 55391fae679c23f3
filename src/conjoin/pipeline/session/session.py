"""The Spark session that commands run in: a running one is taken as it is, else one is made for this machine.

A session made here logs nothing below errors, shows no progress of Spark's own, keeps to UTC, and on a local master
listens on the loopback address only. It ends, and its scratch folder goes, when the process ends.
"""

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from conjoin.errors import ConjoinError, SparkFailed
from conjoin.pipeline.session.class_archive import options_with_archive
from conjoin.pipeline.session.java import ensure_java
from conjoin.pipeline.session.java_process import StartedJava, starting_java
from conjoin.pipeline.session.master import CONNECT, SUBMITTED, is_address, local_cores

if TYPE_CHECKING:
    from conjoin.settings import Settings

ARROW_ROWS = 20_000
SPARK_ERRORS = (PySparkException, Py4JError)
_MOST_WORDS = 400
_NO_ROOM, _TRACE = "No space left on device", "Traceback (most recent call last):"
_RAISED = re.compile(r"^(?:conjoin\.errors\.\w+: )?(\S.*)$", re.MULTILINE)
"""The last line of a trace of Python's: those before are indented. Ours are sentences without their names."""
_DAEMON = "spark.python.daemon.module"
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
# The collector for throughput: the default one spends a tenth of a run on pauses that nobody waits for.
_JAVA_OPTIONS = ("-XX:+UseParallelGC", f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}")
FOR_A_SHORT_JOB = "-XX:TieredStopAtLevel=1"
"""Java's second compiler pays after some ten seconds; on two cores it takes one of them until then."""


_started: list[StartedJava] = []


def session(settings: "Settings", app_name: str, java_options: str = "") -> SparkSession:
    """The active session if there is one, else a new one with these settings. `java_options` are further ones for a
    Java that is started here, such as FOR_A_SHORT_JOB."""
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    builder = SparkSession.builder.appName(app_name)
    if SUBMITTED in os.environ:
        # Under spark-submit the master, the memory and the logs were set there.
        return builder.getOrCreate()
    if settings.master.startswith(CONNECT):
        return builder.remote(settings.master).getOrCreate()
    ensure_java()
    _keep_python_logs_quiet()
    for key, value in options(settings, java_options).items():
        builder = builder.config(key, value)
    with spark_errors(), starting_java() as java:
        spark = builder.getOrCreate()
    _started.append(java)
    atexit.register(_stop, spark, java)
    return spark


def mute_java() -> None:
    """A query is about to be stopped: what Java says of its batch that is cut off is of no use to anybody."""
    for java in _started:
        java.mute()


def _stop(spark: SparkSession, java: StartedJava) -> None:
    java.mute()
    try:
        # Of a JVM that was killed, or that a Ctrl-C has cut off, there is nothing to stop, and nothing to warn of.
        with suppress(ConnectionError, *SPARK_ERRORS), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            spark.stop()
    except KeyboardInterrupt:
        # Somebody does not want to wait for it.
        java.end()


def _keep_python_logs_quiet() -> None:
    """Both write whole traces to stderr, of errors that we tell in words, and of a Ctrl-C."""
    PySparkLogger.getLogger("DataFrameQueryContextLogger").disabled = True
    # py4j logs through the root logger, which sets itself up for the terminal unless it has a handler.
    logging.getLogger().addHandler(logging.NullHandler())


def options(settings: "Settings", java_options: str = "") -> dict[str, str]:
    """Everything that a session of ours is made with."""
    java = (*_JAVA_OPTIONS, options_with_archive(), java_options)
    chosen = {
        "spark.master": settings.master,
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": " ".join(filter(None, java)),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "true",
        # What correlate caches may come in fewer partitions than asked for when there is little of it.
        "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
        # A run has eighty generated classes: with room for a hundred, the next run compiles half of them again.
        "spark.sql.codegen.cache.maxEntries": "1000",
        # A number instead of twelve bytes (INT96), which Parquet looks up in a dictionary one by one.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_ROWS),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if settings.jars:
        chosen["spark.jars"] = settings.jars
    cores = local_cores(settings.master)
    if cores is not None:
        chosen |= _local_options()
        # Whoever has one of his own for Spark's workers keeps it.
        if _DAEMON not in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
            chosen[_DAEMON] = "conjoin.spark_daemon"
    partitions = settings.partitions or (2 * cores if cores else None)
    if partitions:
        chosen["spark.sql.shuffle.partitions"] = str(partitions)
    return chosen


def path_of(spark: SparkSession, path: str) -> str:
    """A plain path as Spark needs it: the JVM of a local session may have started in another folder."""
    is_local = local_cores(spark.conf.get("spark.master", "") or "") is not None
    return path if is_address(path) or not is_local else str(Path(path).absolute())


def _local_options() -> dict[str, str]:
    # Workers would otherwise be whatever python3 is first on PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    scratch = Path(tempfile.mkdtemp(prefix="conjoin-spark-"))
    # Registered before the session's own end, so it is called after it.
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
    }


@contextmanager
def spark_errors() -> Iterator[None]:
    """What Spark raises becomes one of ours, with the words that name the matter."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise SparkFailed(spark_says(error)) from error
    except ConnectionError as error:
        # Not wrapped by py4j: nobody listens any more.
        raise SparkFailed("its Java process has gone") from error


@contextmanager
def short_errors() -> Iterator[None]:
    """Around a batch that Spark calls for: its search of a long trace for an interruption overflows its own stack."""
    try:
        yield
    except ConjoinError as error:
        raise error.with_traceback(None) from None
    except Exception as error:  # noqa: BLE001 - whatever it was, Java gets one line
        raise SparkFailed(spark_says(error)) from None


def spark_says(error: Exception) -> str:
    """What a worker has raised; else the innermost cause if the text has a Java trace, else its first line."""
    text = str(error)
    if _NO_ROOM in text:
        return f"the disk is full: {_NO_ROOM}"
    if _TRACE in text and (raised := _RAISED.findall(text.rpartition(_TRACE)[2])):
        return str(raised[0])[:_MOST_WORDS]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1:] or lines[:1] or [type(error).__name__])[0][:_MOST_WORDS]
