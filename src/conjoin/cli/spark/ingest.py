"""conjoin spark ingest: files or a Kafka topic into a store, each row exactly once."""

import signal
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjoin.cli.configuration import inbox_or_default
from conjoin.cli.invocation import SPARK, STORE, CommandCall, check_spark, command
from conjoin.cli.options import option
from conjoin.cli.progress import progress
from conjoin.cli.reading import checkpoint_folder, is_missing
from conjoin.cli.spark.closing import print_verdicts
from conjoin.errors import InputError
from conjoin.runtime.ingest.kafka_options import (
    FAIL_ON_LOSS,
    SERVERS,
    WHICH,
    kafka_problems,
    read_option,
    read_properties,
)
from conjoin.runtime.ingest.mapping import load_mapping

if TYPE_CHECKING:
    from conjoin.pipeline.ingest.arrivals import Into
    from conjoin.pipeline.ingest.batch import Ingested

_POLL_S = 0.5


@command(STORE | SPARK)
def ingest(
    call: CommandCall,
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="A file, a folder that files come into, or a pattern.", show_default=False),
    ] = None,
    kafka: Annotated[str | None, option("--kafka", "Kafka's bootstrap servers.", "HOST:PORT", "Source")] = None,
    topic: Annotated[str | None, option("--topic", "What to read.", "TOPIC", "Source")] = None,
    kafka_config: Annotated[
        Path | None, option("--kafka-config", "Settings of Kafka's client (TLS, SASL, ...).", "FILE", "Source")
    ] = None,
    options: Annotated[
        list[str] | None, option("--option", "One of Kafka's connector, or of its client.", "NAME=VALUE", "Source")
    ] = None,
    fail_on_loss: Annotated[
        bool, typer.Option("--fail-on-loss", help="Stop where Kafka deleted records unread.", rich_help_panel="Source")
    ] = False,
    mapping: Annotated[
        Path | None, option("--mapping", "Which part of a row is which part of a message.", "FILE")
    ] = None,
    channel: Annotated[str | None, option("--channel", "The channel of the inbox that takes the rows.", "NAME")] = None,
    source: Annotated[
        str | None, option("--source", "The source's name in the store. Default: the path or topic.", "NAME")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when everything that is there has been taken.")] = False,
    every: Annotated[float, option("--every", "How often to look for more.", "SECONDS", show_default=True)] = 1.0,
    checkpoint: Annotated[
        str | None, option("--checkpoint", "Where Spark notes what it has seen. Default: beside the data.", "DIR")
    ] = None,
) -> None:
    """Publish what comes in as files or in a Kafka topic, each row exactly once.

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
      conjoin spark ingest --kafka-config client.properties --topic orders
      conjoin spark ingest incoming/ --channel payments --once

    With --channel the rows go into the inbox, by the mapping of that channel in
    conjoin.toml, and are tried until they are taken (conjoin inbox --help).
    """
    check_spark("conjoin spark ingest")
    from conjoin.pipeline.session.master import refuse_connect

    refuse_connect(call.settings, "conjoin spark ingest")
    asked = _options_of(kafka, topic, kafka_config, options or [], fail_on_loss)
    _check(path, asked)
    into = None if channel is None else _channel(channel, mapping)
    if mapping is not None:
        load_mapping(mapping)
    name = source or (str(path) if path is not None else f"kafka:{next(asked[it] for it in WHICH if it in asked)}")
    began = perf_counter()
    with call.broker() as broker:
        notes = checkpoint or str(checkpoint_folder(broker.store.address, name).absolute())
        from conjoin.pipeline.session.session import FOR_A_SHORT_JOB, spark_errors

        # Java only carries rows here, and the work is Python's: up to some 200,000 its second compiler costs more than
        # it gives, a fifth of all CPU time for 50,000.
        spark = call.spark("conjoin spark ingest", FOR_A_SHORT_JOB if once else "")
        from conjoin.pipeline.ingest.batch import Ingest, Ingested
        from conjoin.pipeline.ingest.frames import checked_mapping
        from conjoin.pipeline.ingest.stream import watch_files, watch_kafka

        total = Ingested()
        with progress(spark) as step:

            def report(done: Ingested) -> None:
                total.add(done)
                letters = f", {total.dead_letters:,} dead letters" if total.dead_letters else ""
                step(f"{total.messages:,} messages{letters}")

            step("looking for rows")
            job = Ingest(broker, name, checked_mapping(mapping) if mapping is not None else None, report, into)
            with spark_errors():
                how: dict[str, Any] = {"once": once, "every_s": every}
                if path is not None:
                    query = watch_files(spark, path, notes, job, **how)
                else:
                    query = watch_kafka(spark, asked, notes, job, **how)
                await_query(query)
    _print(call, total, perf_counter() - began)


def _channel(name: str, mapping: Path | None) -> "Into":
    from conjoin.pipeline.ingest.arrivals import Into

    settings, channels, _ = inbox_or_default(with_targets=False)
    problems = ["--mapping: a channel has its own, in conjoin.toml"] if mapping is not None else []
    if name not in channels:
        known = ", ".join(channels) or "none"
        problems.append(f"--channel: there is no channel {name!r} in conjoin.toml; there is {known}")
    if problems:
        raise InputError(problems)
    return Into(channels[name], settings)


def _options_of(
    kafka: str | None, topic: str | None, config: Path | None, written: list[str], fail_on_loss: bool
) -> dict[str, str]:
    """Options of Kafka's connector; nothing: Kafka was not asked for. What is said here goes before the file."""
    asked = read_properties(config) if config is not None else {}
    asked |= dict(map(read_option, written))
    flags = {SERVERS: kafka, "subscribe": topic, FAIL_ON_LOSS: "true" if fail_on_loss else None}
    return asked | {name: value for name, value in flags.items() if value is not None}


def _check(path: str | None, asked: dict[str, str]) -> None:
    problems = []
    if (path is None) == (not asked):
        problems.append("give either a PATH of files or --kafka with --topic")
    elif asked and not (asked.get(SERVERS) and any(name in asked for name in WHICH)):
        problems.append("--kafka and --topic go together; --kafka-config and --option may say them, too")
    elif asked:
        problems += kafka_problems(asked)
    if path is not None and is_missing(path):
        problems.append(f"{path}: there is no such file or folder")
    if problems:
        raise InputError(problems)


def await_query(query: Any) -> None:
    """Ctrl-C ends it. It is noticed between two calls: one that is cut short leaves the way to Spark unusable."""
    interrupted = Event()
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    try:
        while not query.awaitTermination(_POLL_S):
            if interrupted.is_set():
                break
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted.is_set():
        from conjoin.pipeline.session.session import mute_java

        mute_java()
        query.stop()


def _print(call: CommandCall, total: "Ingested", seconds: float) -> None:
    parts = [f"{total.messages:,} messages", f"{total.dead_letters:,} dead letters"]
    parts += [f"{total.duplicates:,} known to the inbox"] if total.duplicates else []
    parts += [f"{total.ignored:,} not wanted"] if total.ignored else []
    parts += [f"{total.repeated:,} taken before"] if total.repeated else []
    figures = {name: getattr(total, name) for name in ("rows", "messages", "dead_letters", "ignored", "repeated")}
    line = f"{total.rows:,} rows in = {' + '.join(parts)}, in {seconds:.1f} s"
    print_verdicts(call, total.verdicts, figures, line)
