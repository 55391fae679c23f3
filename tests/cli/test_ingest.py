"""conjoin spark ingest: what is told of it, and what is refused before Spark starts."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import Command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rows_of_a_folder_are_published_and_counted(shop: Command, spark: "SparkSession") -> None:
    folder = Path("incoming")
    folder.mkdir()
    Path("orders.yaml").write_text("name: '= type'\nkey: '= order'\nonly: '= type != null'\n")
    rows = [{"type": "paid", "order": "o-1"}, {"type": "paid", "order": True}, {"other": 1}]
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    said = shop("ingest incoming --once --mapping orders.yaml --json")
    done = json.loads(said.out)
    assert {name: done[name] for name in ("rows", "messages", "dead_letters", "ignored", "repeated")} == {
        "rows": 3, "messages": 1, "dead_letters": 1, "ignored": 1, "repeated": 0
    }  # fmt: skip
    assert done["verdicts"] == [{"verdict": "discarded", "reason": "ttl_zero", "count": 1}]
    (letter,) = map(json.loads, shop.tells("dead-letters list --reason bad_type --json").splitlines())
    assert (letter["position"], letter["text"]) == (2, "key: True is not a text")
    assert json.loads(letter["row"]) == rows[1]
    assert "no dead letters" in shop.tells("dead-letters list --source another")
    again = shop("ingest incoming --once --mapping orders.yaml --checkpoint new")
    assert "3 rows in = 0 messages + 0 dead letters + 1 not wanted + 2 taken before" in again.out
    assert "conjoin: 1 messages, 1 dead letters" in said.err


def test_rows_of_a_channel_are_tried_by_a_run_on_spark(shop: Command, spark: "SparkSession") -> None:
    Path("conjoin.toml").write_text('[inbox.channels.payments]\nmapping = { name = "paid", key = "= order" }\n')
    Path("rows.jsonl").write_text('{"order": "o-1"}\n{"order": true}\n')
    taken = json.loads(shop("ingest rows.jsonl --once --channel payments --json").out)
    assert (taken["rows"], taken["messages"], taken["dead_letters"]) == (2, 1, 1)
    shop('create order --variables \'{"orderId": "o-1"}\'')
    assert shop("inbox run --spark").out.strip() == "1 correlated"
    assert "there is no channel 'others'" in shop.cannot("ingest rows.jsonl --channel others")
    assert "a channel has its own" in shop.cannot("ingest rows.jsonl --channel payments --mapping rows.jsonl")


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ("", "give either a PATH of files or --kafka with --topic"),
        ("--kafka host:1", "--kafka and --topic go together"),
        ("--option failOnDataLoss=true", "--kafka and --topic go together"),
        ("--kafka host:1 --topic a --option secret", "write it as NAME=VALUE"),
        ("--kafka host:1 --topic a --option subscribePattern=b", "not subscribe and subscribePattern"),
        ("--kafka host:1 --topic a --option startingOffset=latest", "did you mean 'startingOffsets'?"),
        ("--kafka host:1 --topic a --option kafka.auto.offset.reset=latest", "say startingOffsets instead"),
        ("--kafka host:1 --topic a --kafka-config none.properties", "none.properties: No such file"),
        ("nowhere", "nowhere: there is no such file or folder"),
        (". --once --master sc://127.0.0.1:1", "Spark Connect runs what is done with the batches of a stream on its"),
        (". --mapping none.yaml", "none.yaml: No such file"),
    ],
)
def test_what_cannot_be_is_refused_before_spark_starts(shop: Command, flags: str, problem: str) -> None:
    assert problem in shop.cannot(f"ingest {flags}")
