"""The file of a pipeline: everything that is wrong with it is told at once, and Spark is not needed to see it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conjoin.errors import InputError
from conjoin.pipeline.declared.file import (
    CorrelateTable,
    DeclaredSink,
    DeclaredSource,
    PipelineTable,
    StoreTable,
    pipeline_of,
    read_pipeline,
)
from tests.docs.pages import DOCS

FILES = {"path": "in", "format": "jsonl", "types": "name string"}
JSONL = {"path": "in", "format": "jsonl"}
BY_NUMBER = {"store": "d", "source": "s", "position": "no"}
CORRELATE = {"state": "state", "out": "out"}
RIGHT: dict[str, Any] = {"sources": {"messages": FILES, "subscriptions": FILES}, "correlate": CORRELATE}


def problems_of(written: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as raised:
        pipeline_of(written)
    return raised.value.problems


def test_toml_and_yaml_say_the_same(tmp_path: Path) -> None:
    toml, yaml = tmp_path / "p.toml", tmp_path / "p.yaml"
    toml.write_text(
        'every = "1m"\n'
        '[sources.messages]\npath = "in"\nformat = "jsonl"\ntypes = "name string"\n'
        '[sources.subscriptions]\ntable = "waiting"\nstream = false\n'
        '[correlate]\nstate = "state"\nout = "out"\nlateness = "10m"\n'
        '[[sinks]]\nrows = "notices"\nformat = "kafka"\n'
        'options = { "kafka.bootstrap.servers" = "localhost:9092", topic = "lost" }\n'
    )
    yaml.write_text(
        "every: 1m\n"
        "sources:\n  messages: {path: in, format: jsonl, types: name string}\n"
        "  subscriptions: {table: waiting, stream: false}\n"
        "correlate: {state: state, out: out, lateness: 10m}\n"
        "sinks:\n- rows: notices\n  format: kafka\n"
        "  options: {kafka.bootstrap.servers: 'localhost:9092', topic: lost}\n"
    )
    one = read_pipeline(toml)
    assert one == read_pipeline(yaml)
    assert (one.every, one.correlate and one.correlate.lateness) == (60_000, 600_000)
    assert [sink.rows for sink in one.sinks] == ["notices"]


def test_two_sinks_of_files_with_one_path_are_refused() -> None:
    sinks = [
        {"rows": "verdicts", "format": kind, "path": path} for kind, path in (("csv", "a"), ("parquet", "b/../a/"))
    ]
    assert problems_of({**RIGHT, "sinks": [*sinks, {"rows": "verdicts", "format": "csv", "path": "b"}]}) == [
        "sinks.1.path: is that of sinks.0: give each a folder of its own"
    ]
    delta = {"rows": "verdicts", "format": "delta", "path": "a"}
    assert len(pipeline_of({**RIGHT, "sinks": [delta, delta]}).sinks) == 2


def test_everything_that_is_wrong_is_told_at_once() -> None:
    assert problems_of(
        {
            "sources": {
                "messages": {"format": "kafka", "options": {"subscribe": "a"}},
                "ends": {"path": "in", "table": "t"},
                "starts": {},
                "subscriptions": FILES | {"columns": {"proces_id": "x"}},
            },
            "correlate": {"policies": {"Paid": {"cardinality": "two"}}},
            "sinks": [{"rows": "verdicts", "format": "kafka", "options": {"topic": "t"}}, {}],
        }
    ) == [
        "sources.messages.options: Kafka's servers are missing: kafka.bootstrap.servers, such as localhost:9092",
        "sources.ends.path: and table are two places: give one of them",
        "sources.ends.format: is missing: jsonl, json, csv, parquet, or any that Spark has",
        "sources.starts.path: is missing: where do the rows come from? path, table, or format with options",
        "sinks.0.options: lack kafka.bootstrap.servers",
        "sinks.1.rows: is missing: verdicts, correlations, dead_letters, notices",
        "sinks.1.format: is missing: kafka, delta, iceberg, parquet, conjoin, or any that Spark has",
        "correlate.out: is missing: the folder that gets verdicts, correlations and dead letters",
        "correlate.policies: policy 'Paid': cardinality: 'two' is none of once_per_process, once_per_instance, all, "
        "exactly_one",
        "sources.subscriptions.columns: proces_id is none of process_id, name, correlation_key, opened_at, closed_at, "
        "subscription_id, instance_id, element_id, interrupting, tenant_id, business_id, kept_at",
        "correlate.state: is missing: the folder of what is kept from batch to batch",
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"correlate": CORRELATE | {"lateness": "soon"}}, "correlate.lateness: 'soon' is not a duration"),
        ({"correlate": CORRELATE | {"buckets": 0}}, "correlate.buckets: 0 is not a whole number of at least 1"),
        ({"correlate": CORRELATE | {"profile": "zebra"}}, "correlate.profile: 'zebra' is none of zeebe"),
        ({"sorces": {}}, "sorces: there is no such setting; did you mean 'sources'?"),
        ({"publish": {"store": "data", "source": "s"}}, "correlate, publish, receive or schedule: say one of them"),
        ({"sources": {"messages": FILES}}, "sources.subscriptions: is missing"),
        ({"sources": {"messages": FILES | {"stream": "no"}}}, "sources.messages.stream: is neither true nor false"),
        (
            {"sources": {"messages": FILES | {"stream": False}, "subscriptions": FILES}},
            "sources.messages: it is a table, and others are streams",
        ),
        (
            {"sources": {"messages": FILES | {"types": ""}, "subscriptions": FILES}},
            "sources.messages.types: is missing",
        ),
        (
            {"correlate": None, "publish": {"store": "d", "source": "s"}, "sources": {"messages": FILES}},
            "sources.messages: columns and types are those of correlate",
        ),
        ({"correlate": CORRELATE | {"format": "delta"}}, "correlate.format: streams write Parquet"),
        ({"sinks": [{"rows": "notices", "format": "conjoin"}]}, "sinks.0.path: is missing: the data directory"),
        (
            {
                "correlate": None,
                "publish": {"store": "d", "source": "s"},
                "sources": {"messages": JSONL | {"where": "a"}},
            },
            "publish.position: is missing: lines are counted by themselves only without where and options",
        ),
        (
            {"correlate": None, "publish": BY_NUMBER, "sources": {"messages": JSONL}},
            "sources.messages.types: is missing: the columns of the files",
        ),
        (
            {"sources": {"messages": FILES | {"options": {"password": "$NO_SUCH_VARIABLE"}}, "subscriptions": FILES}},
            "sources.messages.options: there is no variable NO_SUCH_VARIABLE in the environment",
        ),
    ],
)
def test_each_mistake_has_its_sentence(change: dict[str, Any], told: str) -> None:
    written = {name: value for name, value in (RIGHT | change).items() if value is not None}
    assert any(problem.startswith(told) for problem in problems_of(written)), problems_of(written)


def test_what_goes_into_a_store_is_checked_too() -> None:
    sources = {"messages": {"table": "lake.orders"}, "ends": FILES}
    assert problems_of({"sources": sources, "publish": {"source": "s", "mapping": {"key": "= a b"}}})[0] == (
        "publish.store: is missing: a data directory, or the URL of a PostgreSQL store"
    )
    told = problems_of({"sources": sources, "receive": {"store": "d", "source": "s"}, "sinks": [{"rows": "verdicts"}]})
    assert told[-4:] == [
        "sources.ends: only messages go into a store",
        "receive.position: is missing: the column that grows, or nothing can be exactly once",
        "sinks: they get what correlate says; what a store says is exported (conjoin spark export)",
        "receive.channel: is missing: which channel of the inbox takes the rows?",
    ]


def test_file_that_is_none_is_told_with_its_name(tmp_path: Path) -> None:
    missing, broken, text = tmp_path / "no.toml", tmp_path / "broken.toml", tmp_path / "text.yaml"
    broken.write_text("[sources")
    text.write_text("hello")
    for path, told in (
        (missing, "No such file"),
        (broken, "is not TOML"),
        (text, "a text is not a table of settings"),
    ):
        with pytest.raises(InputError, match=told) as raised:
            read_pipeline(path)
        assert str(path) in str(raised.value)


def test_a_password_is_one_of_the_environment_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_LOGIN", "s3cret")
    login = {"options": {"kafka.sasl.jaas.config": "$KAFKA_LOGIN"}, "columns": {"name": "'$x'"}}
    table = pipeline_of(RIGHT | {"sources": {"messages": FILES | login, "subscriptions": FILES}})
    messages = table.sources["messages"]
    assert messages.options["kafka.sasl.jaas.config"] == "s3cret"
    assert messages.columns == {"name": "'$x'"}
    assert "s3cret" not in repr(table)


def test_the_page_of_pipelines_names_every_key() -> None:
    [part] = re.findall(r"### All keys\n(.*?)\n### ", (DOCS / "pipelines.md").read_text(), re.DOTALL)
    named = {word.split(".")[-1] for span in re.findall(r"`([^`\n]+)`", part) for word in [span]}
    tables = PipelineTable, DeclaredSource, DeclaredSink, CorrelateTable, StoreTable
    keys = {key for table in tables for key in table.model_fields} - {"sources", "correlate"}
    assert keys - named == set()


def test_check_starts_no_spark(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    tables = "{messages: {table: m, stream: false}, subscriptions: {table: s, stream: false}}"
    file.write_text(f"sources: {tables}\ncorrelate: {{out: out}}\n")
    command = [str(Path(sys.executable).with_name("conjoin")), "pipeline", "run", str(file), "--check", "--json"]
    nowhere = {"PATH": "", "JAVA_HOME": "/no"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=nowhere)
    assert done.stdout == f'{{"file":"{file}","does":"correlate tables"}}\n'
