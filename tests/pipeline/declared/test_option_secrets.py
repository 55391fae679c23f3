"""Passwords of sinks and sources stand in no name, note or error."""

from typing import Any

import pytest

from conjoin.errors import StoreFailed
from conjoin.pipeline.declared.delivery import _names
from conjoin.pipeline.declared.file import DeclaredSink
from conjoin.pipeline.declared.option_secrets import says
from conjoin.pipeline.ingest.tasks import IngestTask
from conjoin.pipeline.source.staged import Staged, publish_staged

SECRET = "s3cr3t"
URLS = [
    "jdbc:sqlserver://h:1433;user=sa;password={}",
    "jdbc:sqlserver://h:1433;user=sa;password=a?b@{}",
    "jdbc:oracle:thin:scott/{}@//h/x",
    "jdbc:postgresql://h/db?user=ada&password={}",
    "jdbc:mysql://ada:{}@h/db",
    "postgresql://ada:{}@h/db",
]


def named(**sink: Any) -> str:
    [name] = _names([DeclaredSink(rows="verdicts", **sink)])
    return name


@pytest.mark.parametrize("url", URLS)
def test_a_sink_is_named_by_its_table_and_not_by_its_url(url: str) -> None:
    names = [
        named(format="jdbc", options={key: url.format(password), "dbTable": table})
        for key, password, table in (("url", SECRET, "a"), ("URL", SECRET, "b"), ("url", "another", "a"))
    ]
    assert SECRET not in "".join(names)
    assert "h" not in names[0].removeprefix("verdicts jdbc a ").strip("0123456789abcdef")
    assert names[0] == names[2] != names[1]


def test_sinks_at_other_places_have_other_names() -> None:
    one, other = (named(format="jdbc", options={"url": f"jdbc:postgresql://{host}/db"}) for host in ("a", "b"))
    assert one != other
    assert named(format="conjoin", path=f"postgresql://ada:{SECRET}@h/db?password={SECRET}") == (
        "verdicts conjoin postgresql://ada@h/db"
    )
    assert named(format="parquet", path="/lake/lost") == "verdicts parquet /lake/lost"
    assert named(format="kafka", options={"topic": "lost"}) == "verdicts kafka lost"


@pytest.mark.parametrize("name", ["url", "kafka.sasl.jaas.config", "connection.uri", "fs.s3a.secret.key", "Password"])
def test_what_a_driver_says_of_its_options_is_not_repeated(name: str) -> None:
    error = ValueError(f"Failed JDBC jdbc:x;password={SECRET} on connect")
    told = says(error, {name: f"jdbc:x;password={SECRET}", "user": "on", "driver": ""})
    assert told == "Failed JDBC (hidden) on connect"


def test_a_store_that_has_changed_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broker:
        shard_count = 2

        def close(self) -> None:
            pass

    monkeypatch.setattr("conjoin.pipeline.source.staged.open_broker", lambda _: Broker())
    job: Any = IngestTask(_Asking(), 3, None, {})  # type: ignore[arg-type]
    with pytest.raises(StoreFailed, match="postgresql://ada@h/db has got another number of shards"):
        publish_staged(job, [Staged(b"", 3, "", {})])


class _Asking:
    address, source = f"postgresql://ada:{SECRET}@h/db", "orders"
