"""conjoin spark ingest: files or a Kafka topic into a store, each row exactly once."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console

from conjoin.cli.inbox.opening import inbox_configuration
from conjoin.cli.printing import tell
from conjoin.cli.progress import Step, progress
from conjoin.cli.spark.closing import WIDE, verdict_table
from conjoin.cli.spark.option import DriverMemory, Jars, Master, check_spark, started_spark
from conjoin.cli.store_option import Data, StoreUrl, opened_broker
from conjoin.errors import InputError
from conjoin.kernel.verdicts.verdicts import REASONS
from conjoin.runtime.broker import Broker
from conjoin.runtime.ingest.mapping import load_mapping, written_mapping

if TYPE_CHECKING:
    from conjoin.kernel.inbox import InboxSettings
    from conjoin.kernel.inbox.channels import Channel
    from conjoin.pipeline.ingest.batch import Ingest, Ingested

_LOOK_EVERY_S = 0.5
_NOT_FOR_A_FOLDER = re.compile(r"[^\w.-]+")

EXAMPLES = """
Publish what comes in as files or in a Kafka topic, each row exactly once.

[bold]Rows[/bold] are lines of JSON (.jsonl, .ndjson, .json), rows of CSV with a header or of
Parquet, or records of Kafka with JSON in them. Without --mapping a row has the
fields of a message: name, key, id, ttl, variables, tenant, business_id,
published_at. With it, a small YAML file says which part of a row is which:

  name: OrderPaid
  key: "= order.id"
  id: "= eventId"
  ttl: 1h
  variables: "= {amount: amount, by: kafka.key}"
  only: '= type = "paid"'

A row that is no message is kept as a dead letter with its reason, and the rest
goes on (conjoin store dead-letters). How far a source was read is kept in the
store, with the messages: a run that is killed, repeated or started with a new
--checkpoint takes nothing twice and loses nothing. A row without an id has its
place (file and line, partition and offset) as its id.

[bold]Examples[/bold]

  conjoin spark ingest incoming/ --once
  conjoin spark ingest incoming/ --mapping orders.yaml
  conjoin spark ingest --kafka localhost:9092 --topic orders --mapping orders.yaml
  conjoin spark ingest incoming/ --channel payments --once

With --channel the rows go into the inbox, by the mapping of that channel in
conjoin.toml, and are tried until they are taken (conjoin inbox --help).
"""


def ingest(
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="A file, a folder that files come into, or a pattern.", show_default=False),
    ] = None,
    kafka: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Kafka's bootstrap servers.", rich_help_panel="Source")
    ] = None,
    topic: Annotated[str | None, typer.Option(metavar="TOPIC", help="What to read.", rich_help_panel="Source")] = None,
    mapping: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Which part of a row is which part of a message.")
    ] = None,
    channel: Annotated[
        str | None, typer.Option(metavar="NAME", help="The channel of the inbox that takes the rows.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The source's name in the store. Default: the path or topic.", show_default=False
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when everything that is there has been taken.")] = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often to look for more.")] = 1.0,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Where Spark notes what it has seen. Default: beside the data.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Tell the result as JSON.")] = False,
    data: Data = None,
    store: StoreUrl = None,
    master: Master = None,
    driver_memory: DriverMemory = None,
    jars: Jars = None,
) -> None:
    check_spark("conjoin spark ingest")
    _check(path, kafka, topic)
    into = None if channel is None else _channel(channel, mapping)
    said = None
    if mapping is not None:
        load_mapping(mapping)
        said = written_mapping(mapping)
    name = source or (f"kafka:{topic}" if topic else str(path))
    began = perf_counter()
    with opened_broker(data, store) as broker:
        place = checkpoint or _checkpoint(broker, name)
        spark = started_spark("conjoin spark ingest", master, driver_memory, jars)
        total = _run(broker, spark, _Asked(path, kafka, topic, name, said, once, every, place, into))
    _close(total, perf_counter() - began, as_json)


class _Asked(NamedTuple):
    """A path, or a topic at some servers; the rest is how it is read."""

    path: str | None
    kafka: str | None
    topic: str | None
    source: str
    mapping: dict[str, Any] | None
    once: bool
    every_s: float
    checkpoint: str
    into: "tuple[Channel, InboxSettings] | None"


def _channel(name: str, mapping: Path | None) -> "tuple[Channel, InboxSettings]":
    settings, channels, _ = inbox_configuration(with_targets=False)
    problems = ["--mapping: a channel has its own, in conjoin.toml"] if mapping is not None else []
    if name not in channels:
        known = ", ".join(channels) or "none"
        problems.append(f"--channel: there is no channel {name!r} in conjoin.toml; there is {known}")
    if problems:
        raise InputError(problems)
    return channels[name], settings


def _check(path: str | None, kafka: str | None, topic: str | None) -> None:
    problems = []
    if (path is None) == (kafka is None):
        problems.append("give either a PATH of files or --kafka with --topic")
    if (kafka is None) != (topic is None):
        problems.append("--kafka and --topic go together")
    if path is not None and "://" not in path and not re.search(r"[*?\[{]", path) and not Path(path).exists():
        problems.append(f"{path}: there is no such file or folder")
    if problems:
        raise InputError(problems)


def _checkpoint(broker: Broker, source: str) -> str:
    """Beside the data directory's files, or here where the store is somewhere else."""
    address = broker.store.address
    folder = Path("conjoin-checkpoints") if "://" in address else Path(address) / "checkpoints"
    return str((folder / _NOT_FOR_A_FOLDER.sub("_", source)).absolute())


def _run(broker: Broker, spark: Any, asked: _Asked) -> "Ingested":
    from conjoin.pipeline.ingest.arrivals import Into
    from conjoin.pipeline.ingest.batch import Ingest, Ingested
    from conjoin.pipeline.session.progress import running_stage
    from conjoin.pipeline.session.session import spark_errors

    total = Ingested()
    with progress(Console(stderr=True), lambda: running_stage(spark)) as step:
        step("looking for rows")
        into = None if asked.into is None else Into(*asked.into)
        job = Ingest(broker, asked.source, asked.mapping, lambda done: _told(total, done, step), into)
        with spark_errors():
            _await(_started(spark, job, asked))
    return total


def _started(spark: Any, job: "Ingest", asked: _Asked) -> Any:
    from conjoin.pipeline.ingest.stream import watch_files, watch_kafka

    how: dict[str, Any] = {"once": asked.once, "every_s": asked.every_s}
    if asked.path is not None:
        return watch_files(spark, asked.path, asked.checkpoint, job, **how)
    return watch_kafka(spark, asked.kafka or "", asked.topic or "", asked.checkpoint, job, **how)


def _await(query: Any) -> None:
    """Ctrl-C ends it. It is noticed between two calls: one that is cut short leaves the way to Spark unusable."""
    with _noticed_interrupt() as interrupted:
        while not query.awaitTermination(_LOOK_EVERY_S):
            if interrupted.is_set():
                break
    if interrupted.is_set():
        query.stop()


@contextmanager
def _noticed_interrupt() -> Iterator[Event]:
    interrupted = Event()
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _told(total: "Ingested", done: "Ingested", step: Step) -> None:
    total.add(done)
    letters = f", {total.dead_letters:,} dead letters" if total.dead_letters else ""
    step(f"{total.messages:,} messages{letters}")


def _close(total: "Ingested", seconds: float, as_json: bool) -> None:
    known = [(verdict, reason) for verdict, reasons in REASONS.items() for reason in reasons]
    counts = {what: total.verdicts[what] for what in known if total.verdicts[what]}
    if as_json:
        verdicts = [{"verdict": verdict, "reason": reason, "count": n} for (verdict, reason), n in counts.items()]
        figures = {name: getattr(total, name) for name in ("rows", "messages", "dead_letters", "ignored", "repeated")}
        tell({**figures, "verdicts": verdicts}, "", as_json)
        return
    console = Console()
    if counts:
        console.print(verdict_table(counts, console.width >= WIDE))
    parts = [f"{total.messages:,} messages", f"{total.dead_letters:,} dead letters"]
    parts += [f"{total.duplicates:,} known to the inbox"] if total.duplicates else []
    parts += [f"{total.ignored:,} not wanted"] if total.ignored else []
    parts += [f"{total.repeated:,} taken before"] if total.repeated else []
    console.print(f"{total.rows:,} rows in = {' + '.join(parts)}, in {seconds:.1f} s", highlight=False)


ingest.__doc__ = EXAMPLES
