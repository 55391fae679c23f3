"""The file of a pipeline: TOML or YAML. What it may say, and all that is wrong with it at once, without Spark.

sources.messages, sources.subscriptions, ...    where rows come from, and which columns they are
correlate | publish | receive | schedule        what to do with them: exactly one of these
sinks                                           where results go beside the folder `correlate.out`
"""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationInfo

from conjoin.errors import InputError, PolicyError
from conjoin.kernel.policies import PROFILES, Policies, read_policies
from conjoin.pipeline.correlate.columns import TABLES
from conjoin.pipeline.declared.schedule_table import ScheduleTable, problems_of_schedule
from conjoin.pipeline.session.master import is_address
from conjoin.plain_yaml import read_yaml
from conjoin.runtime.ingest.kafka_options import kafka_problems
from conjoin.runtime.ingest.mapping import load_mapping, read_mapping
from conjoin.setting_tables import Flag, SettingTable, Text, check_table, duration_ms, one_of, secret_of, whole_number

SOURCES = ("messages", "subscriptions", "ends", "starts")
RESULTS = ("verdicts", "correlations", "dead_letters", "notices")
FILES = {"jsonl": "json", "json": "json", "csv": "csv", "parquet": "parquet"}
"""Formats of files, and what Spark calls them."""
FORMATS_OF_RUNS = ("parquet", "delta", "jsonl", "csv")
KAFKA = "kafka"
STORE = "conjoin"
"""The format of a store as a sink: rows are published."""


def _options(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError("is not a table of options")
    wrong = [name for name, it in value.items() if not isinstance(it, str | int | float | bool)]
    if wrong:
        raise ValueError(f"{wrong[0]} is neither a text nor a number")
    return {name: str(it).lower() if isinstance(it, bool) else str(it) for name, it in value.items()}


def _options_of_spark(value: object, info: ValidationInfo) -> dict[str, str]:
    """What begins with $ is the variable of the environment with this name: a file is no place for a password."""
    return {name: secret_of(it, info) for name, it in _options(value).items()}


def _mapping(value: object) -> str | dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, str):
        raise ValueError("is neither the path of a mapping nor a table of fields")
    return value


def _policies(value: object) -> dict[str, dict[str, Any]]:
    if not isinstance(value, Mapping) or not all(isinstance(it, Mapping) for it in value.values()):
        raise ValueError("is not a table with the policies of each message name")
    return {name: dict(it) for name, it in value.items()}


Options = Annotated[dict[str, str], PlainValidator(_options_of_spark)]
Expressions = Annotated[dict[str, str], PlainValidator(_options)]
NOTHING: dict[str, Any] = {}


class DeclaredSource(SettingTable):
    """`types` are the columns of files, or those of the JSON in records of Kafka, as Spark's DDL has them. `columns`
    says by SQL what our columns are; without it rows have them already."""

    format: Text = ""
    path: Text = ""
    table: Text = ""
    options: Options = NOTHING
    types: Text = ""
    columns: Expressions = NOTHING
    where: Text = ""
    stream: Flag = True

    def contradictions(self) -> Iterable[tuple[str, str]]:
        if self.path and self.table:
            yield "path", "and table are two places: give one of them"
        if not self.path and not self.table and not self.format:
            yield "path", "is missing: where do the rows come from? path, table, or format with options"
        if self.path and not self.format and self.kind not in FILES:
            yield "format", f"is missing: {', '.join(FILES)}, or any that Spark has"
        if self.kind == KAFKA:
            yield from (("options", problem) for problem in kafka_problems(self.options))

    @property
    def kind(self) -> str:
        """The format, if need be that of the name of the files."""
        return self.format or self.path.rstrip("/").rpartition(".")[2].lower()


class DeclaredSink(SettingTable):
    """`rows` is what it gets; `path` or `table` where it writes, by `format`. `where` and `columns` are SQL, as those
    of a source."""

    rows: Annotated[str, one_of(*RESULTS)] = ""
    format: Text = ""
    path: Text = ""
    table: Text = ""
    options: Options = NOTHING
    where: Text = ""
    columns: Expressions = NOTHING

    def contradictions(self) -> Iterable[tuple[str, str]]:
        if not self.rows:
            yield "rows", f"is missing: {', '.join(RESULTS)}"
        if self.path and self.table:
            yield "path", "and table are two places: give one of them"
        if not self.format and not self.table:
            yield "format", "is missing: kafka, delta, iceberg, parquet, conjoin, or any that Spark has"
        if self.format in FILES and not self.path:
            yield "path", "is missing"
        if self.format == KAFKA:
            lacks = [name for name in ("kafka.bootstrap.servers", "topic") if name not in self.options]
            if lacks:
                yield "options", f"lack {' and '.join(lacks)}"
        if self.format == STORE and not self.path and "url" not in self.options:
            yield "path", "is missing: the data directory of the store; or options.url, its postgresql:// address"


class CorrelateTable(SettingTable):
    """Against who waits: `state` is what is kept from batch to batch, `out` a folder of results; `format` is that of a
    run over tables."""

    state: Text = ""
    out: Text = ""
    format: Annotated[str, one_of(*FORMATS_OF_RUNS)] = "parquet"
    lateness: Annotated[int, duration_ms()] = 0
    profile: Annotated[str, one_of(*PROFILES)] = "zeebe"
    policies: Annotated[dict[str, dict[str, Any]], PlainValidator(_policies)] = NOTHING
    buckets: Annotated[int, whole_number(1)] = 256
    tasks: Annotated[int | None, whole_number(1)] = None

    def contradictions(self) -> Iterable[tuple[str, str]]:
        if not self.out:
            yield "out", "is missing: the folder that gets verdicts, correlations and dead letters"
        _, problems = read_policies(self.profile, self.policies)
        for problem in problems:
            yield "policies", problem

    @property
    def rules(self) -> Policies:
        book, problems = read_policies(self.profile, self.policies)
        if problems:
            raise PolicyError(problems)
        return book


class StoreTable(SettingTable):
    """A store that gets the rows: published, or received by a `channel` of its inbox. `position` is the column that
    grows, `part` the one within whose values it does; files and Kafka have both."""

    store: Text = ""
    source: Text = ""
    channel: Text = ""
    mapping: Annotated[str | dict[str, Any], PlainValidator(_mapping)] = ""
    position: Text = ""
    part: Text = ""

    def contradictions(self) -> Iterable[tuple[str, str]]:
        if not self.store:
            yield "store", "is missing: a data directory, or the URL of a PostgreSQL store"
        if not self.source:
            yield "source", "is missing: the name by which the store knows what it has taken"
        if self.mapping:
            try:
                load_mapping(Path(self.mapping)) if isinstance(self.mapping, str) else read_mapping(self.mapping)
            except InputError as error:
                for problem in error.problems:
                    yield "mapping", problem


class PipelineTable(SettingTable):
    """The whole file."""

    name: Text = ""
    sources: dict[Annotated[str, one_of(*SOURCES)], DeclaredSource] = NOTHING
    correlate: CorrelateTable | None = None
    publish: StoreTable | None = None
    receive: StoreTable | None = None
    schedule: ScheduleTable | None = None
    sinks: list[DeclaredSink] = []  # noqa: RUF012 - never changed
    every: Annotated[int, duration_ms()] = 1_000
    checkpoint: Text = ""


def read_pipeline(path: Path) -> PipelineTable:
    """Raises `InputError` with everything that is wrong, each with its key."""
    table, problems = _read(_written(path))
    if problems:
        raise InputError([f"{path}: {problem}" for problem in problems])
    return table


def pipeline_of(written: Mapping[str, Any]) -> PipelineTable:
    """The same of a dictionary."""
    table, problems = _read(written)
    if problems:
        raise InputError(problems)
    return table


def _read(written: object) -> tuple[PipelineTable, list[str]]:
    table, problems = check_table(PipelineTable, written, environment=os.environ)
    if isinstance(written, Mapping):
        problems += list(_contradictions(table, written, {problem.partition(":")[0] for problem in problems}))
    return table, problems


def _written(path: Path) -> object:
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError([f"{path}: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise InputError([f"{path}: is not UTF-8"]) from None
    try:
        return read_yaml(content) if path.suffix in (".yaml", ".yml") else tomllib.loads(content)
    except (ValueError, tomllib.TOMLDecodeError) as error:
        kind = "YAML" if path.suffix in (".yaml", ".yml") else "TOML"
        raise InputError([f"{path}: is not {kind}: {error}"]) from None


def _contradictions(table: PipelineTable, written: Mapping[str, Any], wrong: set[str]) -> Iterator[str]:
    """Of tables inside the file, and of what does not go together. Tables that cannot be read were told already."""
    inside: dict[str, SettingTable] = {f"sources.{name}": source for name, source in table.sources.items()}
    inside |= {f"sinks.{place}": sink for place, sink in enumerate(table.sinks)}
    todo = {name: getattr(table, name) for name in ("correlate", "publish", "receive", "schedule")}
    given = {name: it for name, it in todo.items() if it is not None}
    for name, one in (inside | given).items():
        yield from (f"{name}.{key}: {problem}" for key, problem in one.contradictions())
    broken = {place.partition(".")[0] for place in wrong}
    named = [name for name in todo if name in written]
    if len(named) != 1:
        yield "correlate, publish, receive or schedule: say one of them" + (
            f", not {' and '.join(named)}" if named else ""
        )
        return
    if named[0] == "schedule":
        if table.schedule is not None and not broken:
            yield from problems_of_schedule(table, table.schedule)
        return
    if "sources" not in broken:
        yield from _of_sources(table, named[0])
    if named[0] != "correlate" and table.sinks:
        yield "sinks: they get what correlate says; what a store says is exported (conjoin spark export)"
    if (it := table.correlate) is not None:
        streams = any(source.stream for source in table.sources.values())
        if streams and not it.state:
            yield "correlate.state: is missing: the folder of what is kept from batch to batch"
        if streams and it.format != "parquet":
            yield f"correlate.format: streams write Parquet; give a sink of the format {it.format} beside it"
        if not streams and table.sinks:
            yield "sinks: they get batches of streams, and all sources are tables: the results are in correlate.out"
        yield from _of_sinks(table)
    if (channel := table.receive) is not None and not channel.channel:
        yield "receive.channel: is missing: which channel of the inbox takes the rows?"
    if table.receive is not None and table.receive.mapping:
        yield "receive.mapping: a channel has its own, in conjoin.toml"
    if table.publish is not None and table.publish.channel:
        yield "publish.channel: a channel receives: say receive instead of publish"


def _of_sinks(table: PipelineTable) -> Iterator[str]:
    """Two sinks of files with one path would be read as one table."""
    first: dict[str, int] = {}
    for place, sink in enumerate(table.sinks):
        if sink.format in FILES and sink.path:
            path = sink.path.rstrip("/") if is_address(sink.path) else str(Path(sink.path).resolve())
            if first.setdefault(path, place) != place:
                yield f"sinks.{place}.path: is that of sinks.{first[path]}: give each a folder of its own"


def _of_sources(table: PipelineTable, what: str) -> Iterator[str]:
    wanted = ("messages", "subscriptions") if what == "correlate" else ("messages",)
    yield from (f"sources.{name}: is missing" for name in wanted if name not in table.sources)
    if what != "correlate":
        yield from (f"sources.{name}: only messages go into a store" for name in table.sources if name != "messages")
        messages, to = table.sources.get("messages"), table.publish or table.receive
        if messages is None or to is None:
            return
        yield from _of_rows_for_a_store(messages, to, what)
        return
    messages = table.sources.get("messages")
    if messages is not None and not messages.stream and any(source.stream for source in table.sources.values()):
        yield "sources.messages: it is a table, and others are streams"
    for name, source in table.sources.items():
        if source.kind in FILES and source.kind != "parquet" and not source.types:
            yield f"sources.{name}.types: is missing: the columns of the files, such as 'id string, at timestamp'"
        known = [contract.name for contract in TABLES[name]]
        strange = [column for column in source.columns if name != "messages" and column not in known]
        yield from (f"sources.{name}.columns: {column} is none of {', '.join(known)}" for column in strange)


def _of_rows_for_a_store(messages: DeclaredSource, to: StoreTable, what: str) -> Iterator[str]:
    is_files = not messages.table and messages.kind in FILES
    if messages.columns or (messages.types and not (is_files and to.position)):
        yield f"sources.messages: columns and types are those of correlate; {what}.mapping reads rows for a store"
    if to.position:
        if is_files and messages.stream and messages.kind != "parquet" and not messages.types:
            yield "sources.messages.types: is missing: the columns of the files, such as 'id long, at string'"
    elif not is_files and messages.kind != KAFKA:
        yield f"{what}.position: is missing: the column that grows, or nothing can be exactly once"
    elif is_files and (messages.where or messages.options):
        yield f"{what}.position: is missing: lines are counted by themselves only without where and options"
