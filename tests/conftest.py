"""What all tests share: the seed, one Spark session and one PostgreSQL server for the whole run."""

import gc
import os
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from conjoin import fault_points, runs_as

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_SEED = 20301


def the_seed() -> int:
    return int(os.environ.get("SEED") or DEFAULT_SEED)


def pytest_sessionstart(session: pytest.Session) -> None:
    # Not pytest_report_header: -q leaves the header out, and the seed must always be seen.
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"seed {the_seed()} (SEED={the_seed()} make test runs the same again)")


def pytest_collection_finish() -> None:
    """Ten thousand tests are collected and stay: the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("interpreted") and runs_as == "compiled":
            item.add_marker(pytest.mark.skip("it replaces a part of what is compiled: CONJOIN_PURE=1 runs it"))


@pytest.fixture(autouse=True)
def _faults_strike_this_test_alone() -> None:
    """Servers that several tests share run in this process too, and pass the same points at any time."""
    fault_points.spare(set(threading.enumerate()) - {threading.main_thread(), threading.current_thread()})


@pytest.fixture(scope="session")
def seed() -> int:
    """What every generator starts from, so that one number replays a failure."""
    return the_seed()


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    # Imported here, so that tests without Spark run where it is not installed.
    from conjoin.pipeline.session.java import ensure_java

    ensure_java()
    # Workers would otherwise be whatever python3 is first on PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("conjoin-tests")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        # Jobs of a few rows are over before a compiler could make them faster.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres_module() -> ModuleType:
    return pytest.importorskip(  # type: ignore[no-any-return]
        "tests.store.postgres_server", reason="psycopg is not installed: make setup brings it", exc_type=ImportError
    )


@pytest.fixture(scope="session")
def postgres_server(postgres_module: Any) -> Iterator[Any]:
    try:
        server = postgres_module.start_server()
    except postgres_module.NoServer as reason:
        pytest.skip(str(reason))
    yield server
    server.remove()
