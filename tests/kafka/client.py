"""A process with a Spark session that has Kafka's connector: it produces records, and runs `conjoin` as its user does.

The session that other tests share has no connector, and a process can have only one.
"""

import contextlib
import io
import multiprocessing
import os
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from tests.cluster.java_servers import LITTLE_JAVA
from tests.kafka.broker import LARGEST_RECORD

_CONTEXT = multiprocessing.get_context("spawn")
_ROWS = "partition int, key binary, value binary, headers array<struct<key:string,value:binary>>"
END_S = 30


class Record(NamedTuple):
    partition: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]] | None = None


class Sent(NamedTuple):
    """A record as it is found in a topic."""

    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


class KafkaClient:
    """The side of the tests."""

    def __init__(self, servers: str, jars: str) -> None:
        self.servers = servers
        self._connection, other = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(other, servers, jars), daemon=True)
        self._process.start()
        other.close()

    def produce(self, topic: str, records: Sequence[Record]) -> None:
        """In this order."""
        self._ask("produce", topic, list(records))

    def consume(self, topic: str) -> list[Sent]:
        """All of it, each partition in its order."""
        return [Sent(*record) for record in self._ask("consume", topic)]

    def conjoin(self, *arguments: str) -> str:
        """What the command prints; it must succeed."""
        ended, out, errors = self._ask("conjoin", *arguments)
        assert ended == 0, errors
        return str(out)

    def refused(self, *arguments: str) -> str:
        """What the command says to stderr; it must fail."""
        ended, _, errors = self._ask("conjoin", *arguments)
        assert ended != 0
        return str(errors)

    def stop(self) -> None:
        self._connection.close()
        self._process.join(END_S)

    def _ask(self, what: str, *arguments: Any) -> Any:
        self._connection.send((what, arguments))
        answer, error = self._connection.recv()
        assert error is None, error
        return answer


def _serve(connection: Connection, servers: str, jars: str) -> None:
    """Runs in a process of its own."""
    os.environ["JDK_JAVA_OPTIONS"] = LITTLE_JAVA[0]
    from conjoin.pipeline.session.session import session
    from conjoin.settings import load

    spark = session(load(master="local[2]", driver_memory="2g", jars=jars), "tests")
    server = _Server(spark, servers)
    with contextlib.suppress(EOFError):
        while True:
            what, arguments = connection.recv()
            try:
                connection.send((getattr(server, what)(*arguments), None))
            except Exception as error:  # noqa: BLE001 - whatever it was, the test must know
                connection.send((None, f"{what}: {error!r}"))
    spark.stop()


class _Server:
    def __init__(self, spark: Any, servers: str) -> None:
        self._spark = spark
        self._servers = servers

    def produce(self, topic: str, records: list[Record]) -> None:
        writer = self._spark.createDataFrame(records, _ROWS).coalesce(1).write.format("kafka")
        at = {"kafka.bootstrap.servers": self._servers, "kafka.max.request.size": LARGEST_RECORD, "topic": topic}
        writer.options(**at, includeHeaders=True).save()

    def consume(self, topic: str) -> list[tuple[bytes, bytes, list[tuple[str, bytes]]]]:
        reader = self._spark.read.format("kafka").options(subscribe=topic, includeHeaders=True)
        found = reader.option("kafka.bootstrap.servers", self._servers).load().orderBy("partition", "offset").collect()
        return [
            (bytes(row.key), bytes(row.value), [(name, bytes(value)) for name, value in row.headers or []])
            for row in found
        ]

    def conjoin(self, *arguments: str) -> tuple[int, str, str]:
        from conjoin.cli.main import run

        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
            ended = run(list(arguments))
        return ended, out.getvalue(), errors.getvalue()
