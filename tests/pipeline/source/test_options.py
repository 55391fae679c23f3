"""Options: what is wrong with them is said in sentences, all at once, before anything is read."""

from pathlib import Path

import pytest
from pyspark.sql import types as T

from conjoin.errors import InputError, StoreFailed, StoreMissing
from conjoin.pipeline.source import ConjoinDataSource
from conjoin.pipeline.source.options import read_options
from conjoin.pipeline.source.tables import TABLES

NAMES = "messages, verdicts, correlations, subscriptions, instances, incidents, events, dead_letters"
URL = "postgresql://somebody:secret@nowhere/db"


@pytest.mark.parametrize(
    ("options", "problems"),
    [
        (
            {},
            [
                "no store is named: give its folder as option path, or its postgresql:// address as option url",
                f"no table is named: give the option table, one of {NAMES}",
            ],
        ),
        (
            {"path": "store", "url": URL, "table": "messages"},
            ["the options path and url name two stores: give one of them"],
        ),
        (
            {"path": URL, "table": "messages"},
            ["the option path is the folder of a store; a postgresql:// address is the option url"],
        ),
        (
            {"url": "store", "table": "messages"},
            ["the option url is no postgresql:// address; the folder of a store is the option path"],
        ),
        ({"path": "store", "table": "mesages"}, [f"there is no table 'mesages', but {NAMES}"]),
        (
            {"path": "store", "table": "incidents", "columns": "key, name"},
            [
                "incidents have no column 'name', but shard, key, process_id, tenant_id, instance_key, element_key,"
                " element_id, job_key, error_type, text"
            ],
        ),
        ({"path": "store", "table": "messages", "columns": "key,key"}, ["a column is named twice: key, key"]),
        (
            {"path": "store", "table": "messages", "colums": "key"},
            ["there is no option 'colums', but path, url, table, columns, where, partitions_per_shard, push_filters"],
        ),
        (
            {"path": "store", "table": "messages", "push_filters": "maybe"},
            ["push_filters: 'maybe' is neither true nor false"],
        ),
        (
            {"path": "store", "table": "messages", "where": "name = paid", "columns": "nam"},
            [
                f"messages have no column 'nam', but {', '.join(TABLES['messages'].columns)}",
                "where: name can be compared with a text in single quotes, and not with paid",
            ],
        ),
        *(
            (
                {"path": "store", "table": "messages", "partitions_per_shard": number},
                [f"partitions_per_shard: {number!r} is no whole number from 1 to 1000"],
            )
            for number in ("0", "-1", "two", "1.5", "", "1001", "٣")
        ),
    ],
)
def test_all_that_is_wrong_with_options_is_said_at_once(options: dict[str, str], problems: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        ConjoinDataSource(options).schema()
    assert raised.value.problems == problems


def test_a_store_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match=f"there is no store in {tmp_path}"):
        ConjoinDataSource({"path": str(tmp_path), "table": "messages"}).schema()


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreFailed) as raised:
        ConjoinDataSource({"url": "postgresql://me:secret@127.0.0.1:1/db", "table": "messages"}).schema()
    assert "postgresql://me@127.0.0.1:1/db" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_path_is_the_same_in_whatever_folder_a_task_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_options({"path": "store", "table": "messages"}).address == str(tmp_path / "store")


@pytest.mark.parametrize("table", TABLES)
def test_without_columns_all_of_them_are_meant(empty_store: Path, table: str) -> None:
    schema = ConjoinDataSource({"path": str(empty_store), "table": table}).schema()
    assert schema.names == list(TABLES[table].columns)


def test_columns_come_in_the_order_in_which_they_are_asked_for(empty_store: Path) -> None:
    options = {"path": str(empty_store), "table": "messages", "columns": "published_at, key,name"}
    assert ConjoinDataSource(options).schema().simpleString() == "struct<published_at:timestamp,key:bigint,name:string>"


def test_a_schema_of_the_users_own_chooses_columns_and_must_fit(empty_store: Path) -> None:
    source = ConjoinDataSource({"path": str(empty_store), "table": "messages"})
    source.reader(T.StructType().add("name", "string").add("key", "long"))
    with pytest.raises(InputError) as raised:
        source.reader(T.StructType().add("key", "string").add("colour", "string"))
    assert raised.value.problems[0].startswith("messages have no column 'colour', but shard, key, name")
    assert raised.value.problems[1:] == ["the column key of messages is bigint, and not string"]
