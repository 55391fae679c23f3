"""correlate and the data source over Spark Connect, as on a remote cluster.

A process that has a classic session cannot also have a remote one, so the client is a script.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conjoin.pipeline.session.java import ensure_java
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import create_broker

NEEDED = ("grpc", "grpc_status", "google.rpc", "zstandard")
START_S, RUN_S = 120, 240


def _missing() -> list[str]:
    def is_there(name: str) -> bool:
        try:
            return importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:
            return False

    return [name for name in NEEDED if not is_there(name)]


pytestmark = pytest.mark.skipif(
    bool(_missing()), reason=f"Spark Connect needs {', '.join(_missing())}: pip install 'pyspark[connect]'"
)

CLIENT = """
import json, sys
from pyspark.sql import SparkSession
from conjoin.pipeline import correlate
from tests.oracle.model import play
from tests.pipeline.many import AS_OF, Many, merged
from tests.pipeline.test_against_oracle import said

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
many = Many(int(sys.argv[2]), 40)
with correlate(**many.frames(spark), policies=many.policies(), as_of=AS_OF, partitions=2) as result:
    ours = said(result)
theirs = merged([play(history) for history in many.histories])
assert ours["verdicts"] == theirs.verdicts
assert ours["pairs"] == theirs.pairs
assert ours["open"] == theirs.open
print(json.dumps({"session": type(spark).__module__, "verdicts": len(ours["verdicts"])}))
spark.stop()
"""

READER = """
import json, sys
from pyspark.sql import SparkSession
from conjoin.pipeline import register

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
register(spark)
orders = spark.range(20).selectExpr("id", "'paid' as name", "concat('o-', id) as key", "60000 as ttl")
for _ in range(2):
    orders.write.format("conjoin").options(source="orders", position="id").mode("append").save(sys.argv[2])
options = {"table": "messages", "where": "name = 'paid'", "push_filters": "true"}
messages = spark.read.format("conjoin").options(**options).load(sys.argv[2])
found = messages.filter("correlation_key <> 'o-7'").collect()
print(json.dumps([[row.correlation_key, row.verdict] for row in found]))
spark.stop()
"""

STREAM = """
import json, sys
from pyspark.sql import SparkSession
from conjoin.errors import InputError
from conjoin.pipeline import Pipeline

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
files = {"path": sys.argv[2] + "/in", "format": "jsonl", "types": "name string, published_at string"}
waiting = {"path": sys.argv[2] + "/in", "format": "jsonl", "types": "process_id string, name string, opened_at string"}
declared = {
    "sources": {"messages": files, "subscriptions": waiting | {"stream": False}},
    "correlate": {"state": sys.argv[2] + "/state", "out": sys.argv[2] + "/out"},
}
try:
    Pipeline.of(declared).run(spark, once=True)
except InputError as error:
    print(json.dumps(str(error)))
spark.stop()
"""


INGEST = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
from conjoin.errors import InputError
from conjoin.pipeline.declared import Pipeline
from conjoin.pipeline.ingest import ingest

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
orders = spark.range(20).selectExpr("id", "'paid' as name", "concat('o-', id) as key", "60000 as ttl")
counts = [ingest(orders, sys.argv[2], "orders", position="id") for _ in range(2)]
source = {"format": "rate", "options": {}}
try:
    Pipeline.of({"sources": {"messages": source}, "publish": {
        "store": sys.argv[2], "source": "s", "position": "value", "mapping": {"name": "paid"}}}).run(spark, once=True)
except InputError as error:
    refused = str(error)
print(json.dumps([[it.messages, it.repeated] for it in counts] + [refused]))
spark.stop()
"""


INBOX = """
import json, sys
from contextlib import closing
from pyspark.sql import SparkSession
from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.channels import Channel
from conjoin.pipeline.inbox import SparkInbox, correlate_inbox
from conjoin.pipeline.inbox.tables.folder import ParquetInbox
from conjoin.runtime.inbox.receiving import Row
from conjoin.runtime.opening import open_broker
from pathlib import Path

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
with closing(open_broker(Path(sys.argv[2]))) as broker:
    inbox = SparkInbox(spark, broker, InboxSettings(), {"orders": Channel("orders")})
    inbox.receive_rows("orders", [Row("rows", 1, b'{"name": "paid", "key": "o-1"}')])
    on_store = inbox.run()
arrived = spark.createDataFrame([("m-1", "paid", "o-1")], "id string, name string, key string")
shape = "process_id string, name string, correlation_key string, opened_at string"
waiting = spark.createDataFrame([("order", "paid", "o-1", "2026-01-01T00:00:00Z")], shape)
table = ParquetInbox(spark, sys.argv[3])
over_tables = table.write(correlate_inbox(arrived, waiting, table.read()), 0, "")
again = table.write(correlate_inbox(arrived, waiting, table.read()), 0, "")
print(json.dumps([on_store.target_error, over_tables.correlated, again.correlated]))
spark.stop()
"""


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    ensure_java()
    path = os.pathsep.join([str(Path(__file__).parents[2]), *(entry for entry in sys.path if entry)])
    own = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHONPATH": path}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return inherited | own


@pytest.fixture(scope="module")
def address(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Connect server on a free port of the loopback address."""
    import pyspark

    port = _free_port()
    home = tmp_path_factory.mktemp("connect")
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": home.as_uri(),
        "spark.ui.enabled": "false",
    }
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = [option for name, value in conf.items() for option in ("--conf", f"{name}={value}")]
    main = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    log = home / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [submit, "--master", "local[2]", *options, *main],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=home,
        )
    try:
        _await(server, port, log)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"the Connect server did not start:\n{log.read_text(errors='replace')[-3000:]}")


def run(environment: dict[str, str], client: str, *arguments: str) -> Any:
    """What a client prints last."""
    done = subprocess.run(
        [sys.executable, "-c", client, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_correlate_over_spark_connect_agrees_with_the_oracle(
    address: str, environment: dict[str, str], seed: int
) -> None:
    told = run(environment, CLIENT, address, str(seed))
    assert told["session"].startswith("pyspark.sql.connect")
    assert told["verdicts"] > 0


def test_a_store_is_written_and_read_over_spark_connect(
    address: str, environment: dict[str, str], tmp_path: Path
) -> None:
    with closing(create_broker(tmp_path / "store", 2)) as broker:
        broker.publish(NewMessage("lost", "o-7"))
    found = run(environment, READER, address, str(tmp_path / "store"))
    assert sorted(found) == sorted([f"o-{number}", "buffered"] for number in range(20) if number != 7)


def test_a_stream_over_spark_connect_is_refused_before_anything_begins(
    address: str, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    told = run(environment, STREAM, address, str(tmp_path))
    assert told == "a stream is correlated in the process that started Spark: Spark Connect has none here"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in"]


def test_a_frame_is_ingested_over_spark_connect_and_a_stream_is_refused_in_a_sentence(
    address: str, environment: dict[str, str], tmp_path: Path
) -> None:
    with closing(create_broker(tmp_path / "store", 2)):
        pass
    first, again, refused = run(environment, INGEST, address, str(tmp_path / "store"))
    assert (first, again) == ([20, 0], [0, 20])
    assert refused.startswith("Spark Connect runs what is done with the batches of a stream on its server")


def test_the_inbox_of_a_store_and_over_tables_runs_over_spark_connect(
    address: str, environment: dict[str, str], tmp_path: Path
) -> None:
    create_broker(tmp_path / "store", 2).close()
    assert run(environment, INBOX, address, str(tmp_path / "store"), str(tmp_path / "inbox")) == [1, 1, 0]
