"""Who runs the schedule of the inbox: Spark where the settings or a master say so, else the process of the command."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conjoin.cli import inbox_engine as engine
from conjoin.cli.inbox import running
from conjoin.cli.invocation import CommandCall
from conjoin.errors import ExtraMissing, SettingsError
from conjoin.settings import load
from tests.cli.command import Command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ON_SPARK = '[inbox]\nengine = "spark"\n'


@pytest.mark.parametrize(
    ("file", "variables", "flags", "expected"),
    [
        ("", {}, "", False),
        ('master = "spark://head:7077"\n', {}, "", True),
        ("", {"CONJOIN_MASTER": "local[2]"}, "", True),
        ("", {}, "--master local[2]", True),
        ("", {"PYSPARK_GATEWAY_PORT": "1"}, "", True),
        (ON_SPARK, {}, "", True),
        ("", {"CONJOIN_INBOX": '{"engine": "spark"}'}, "", True),
        ("", {"CONJOIN_INBOX_ENGINE": "spark"}, "", True),
        ("", {}, "--engine spark", True),
        ("", {}, "--spark", True),
        (ON_SPARK, {"CONJOIN_INBOX_ENGINE": "inline"}, "", False),
        (ON_SPARK, {}, "--engine inline", False),
        ('master = "local[2]"\n[inbox]\nengine = "inline"\n', {}, "", False),
    ],
)
def test_schedule_runs_on_spark_where_the_engine_says_so_or_else_where_a_master_is_set(
    shop: Command,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    variables: dict[str, str],
    flags: str,
    expected: bool,
) -> None:
    Path("conjoin.toml").write_text(file)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    started: list[bool] = []

    def make(call: CommandCall, on_spark: bool = False) -> Any:
        maker = engine.inbox_maker(call, on_spark)
        started.append(maker is not engine.inline)
        return engine.inline

    monkeypatch.setattr(running, "inbox_maker", make)
    assert shop.tells(f"inbox run {flags}").strip() == "nothing was due"
    assert started == [expected]


def test_engine_is_no_setting_of_the_rules_and_an_inbox_with_it_alone_has_the_defaults(shop: Command) -> None:
    Path("conjoin.toml").write_text(ON_SPARK)
    assert load().inbox == {}


def test_engine_that_there_is_not_is_refused_with_where_it_was_set(
    shop: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("conjoin.toml").write_text('[inbox]\nengine = "flink"\n')
    with pytest.raises(
        SettingsError, match=r"conjoin.toml: inbox.engine = 'flink': input should be 'spark' or 'inline'"
    ):
        load()
    monkeypatch.setenv("CONJOIN_INBOX", '{"engine": "storm"}')
    with pytest.raises(SettingsError, match=r"environment CONJOIN_INBOX: inbox.engine = 'storm'"):
        load()


def test_without_spark_installed_the_setting_that_wants_it_is_named(
    shop: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ExtraMissing(name, "Apache Spark", "spark")

    monkeypatch.setattr(engine, "check_spark", missing)
    assert "engine = inline" in shop.cannot("inbox run --engine spark")


def test_run_on_spark_takes_what_is_due(shop: Command, spark: "SparkSession") -> None:
    Path("conjoin.toml").write_text(f"{ON_SPARK}[inbox.channels.orders]\n")
    Path("rows.jsonl").write_text('{"name": "paid", "key": "o-1"}\n{"name": "paid", "key": "o-2"}\n')
    shop("inbox receive orders rows.jsonl")
    shop('create order --variables \'{"orderId": "o-1"}\'')
    assert shop("inbox run").out.strip() == "1 correlated, 1 target error"
    assert shop("inbox run").out.strip() == "nothing was due"
