"""conjoin message publish --file: many messages, each told of in the end, and no bad line stops the others."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from conjoin.runtime.run.carriers.sequential import Sequential
from tests.bpmn.snippets import END, PAID, catch, model
from tests.cli.command import Command
from tests.runtime.test_tasks import Poison, while_it_is_carried_out, while_it_is_loaded

LINES = """
{"name": "paid", "key": "o-1", "variables": {"amount": 1.50}}
{"name": "paid", "correlationKey": "o-9", "ttl": "1h", "id": "a"}
{"name": "paid", "correlation_key": "o-9", "timeToLive": 1000, "messageId": "a", "tenantId": null}
{"name": "paid", "key": "o-8", "ttl_ms": 0, "business_id": "b", "tenant": "shop-2"}
"""
STARTED_BY_MESSAGE = model(
    '<startEvent id="begin"><messageEventDefinition messageRef="placed_message"/></startEvent>\n' + catch("paid") + END,
    "begin>paid paid>end",
    PAID + '<message id="placed_message" name="placed"/>\n',
).replace(b'id="order"', b'id="started"')
BAD = {
    "{": "is not JSON: ",
    "[1]": "is not an object",
    "{}": "has no message name",
    '{"name": " "}': "has no message name",
    '{"name": 7}': "name: 7 is not a text",
    '{"name": "paid", "key": true}': "key: True is not a text",
    '{"name": "paid", "kye": "o"}': "kye: there is no such field; did you mean key?",
    '{"name": "paid", "ttl": "soon"}': "ttl: 'soon' is no time such as 30s, 1h or PT1H",
    '{"name": "paid", "ttl": true}': "ttl: True is no time such as 30s, 1h or PT1H",
    '{"name": "paid", "variables": []}': "variables: [] is not an object",
}


def write(messages: list[dict[str, Any]]) -> None:
    Path("m.jsonl").write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")


def verdicts(told: dict[str, Any]) -> dict[str, int]:
    return {f"{row['verdict']} {row['reason']}": row["count"] for row in told["verdicts"]}


def test_closing_table_tells_what_became_of_each(shop: Command) -> None:
    shop.order()
    Path("m.jsonl").write_text(LINES, encoding="utf-8")
    told = shop.tells("publish --file m.jsonl")
    for verdict, reason in (
        ("correlated", "waiting_instance"),
        ("buffered", "nobody_waits"),
        ("discarded", "ttl_zero"),
        ("refused", "duplicate_id"),
    ):
        assert any(line.split()[:4] == [verdict, reason, "1", "25.0%"] for line in told.splitlines()), told
    assert told.splitlines()[-1].startswith("4 messages published in ")


def test_standard_input_is_a_file_too(shop: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.order()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LINES.encode())))
    told = shop.json("publish message --file -")
    assert told["published"] == 4
    assert verdicts(told)["correlated waiting_instance"] == 1


@pytest.mark.parametrize(("line", "why"), BAD.items())
def test_bad_line_is_told_with_its_number_and_skipped(line: str, why: str, shop: Command) -> None:
    shop.order()
    Path("m.jsonl").write_text(f'\n{line}\n{{"name": "paid", "key": "o-1"}}\n', encoding="utf-8")
    said = shop("publish --file m.jsonl")
    assert said.code == 1
    assert said.err.startswith(f"conjoin: m.jsonl:2: {why}")
    assert said.out.splitlines()[-1].endswith("1 bad line skipped")
    assert shop.open() == {"instances": 1, "jobs": 1}


@pytest.mark.parametrize("poison", [while_it_is_carried_out, while_it_is_loaded])
def test_a_line_whose_consequences_fail_is_told_and_the_others_are_published(
    shop: Command, monkeypatch: pytest.MonkeyPatch, poison: Poison
) -> None:
    poison(monkeypatch, OverflowError("too large"))
    keys = ("a", "b", "bad-1", "c", "bad-2", "d")
    Path("m.jsonl").write_text("".join(json.dumps({"name": "paid", "key": key, "ttl": "1h"}) + "\n" for key in keys))
    said = shop("publish --file m.jsonl --json")
    assert said.code == 1
    assert sorted(line.split(" ")[1] for line in said.err.splitlines()) == ["m.jsonl:3:", "m.jsonl:5:"]
    assert "OverflowError: too large" in said.err
    told = json.loads(said.out)
    assert (told["published"], told["bad_lines"]) == (4, 2)


def test_bytes_that_are_no_text_are_a_bad_line(shop: Command) -> None:
    Path("m.jsonl").write_bytes(b'{"name": "\xff"}\n{"name": "paid"}\n')
    said = shop("publish --file m.jsonl --json")
    assert said.err.startswith("conjoin: m.jsonl:1: is not JSON: ")
    assert json.loads(said.out)["bad_lines"] == 1


def test_thousands_are_published_in_few_commits_in_the_order_of_each_key(
    shop: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    run = Sequential.run

    def counted(self: Sequential, shard: int, batch: Any) -> Any:
        sizes.append(len(batch.requests))
        return run(self, shard, batch)

    write([{"name": "paid", "key": f"k-{n % 700}", "ttl": "1h", "variables": {"n": n}} for n in range(3_500)])
    with monkeypatch.context() as patch:
        patch.setattr(Sequential, "run", counted)
        told = shop.json("publish --file m.jsonl")
    assert told == {
        "published": 3_500,
        "bad_lines": 0,
        "verdicts": [{"verdict": "buffered", "reason": "nobody_waits", "count": 3_500}],
    }
    assert sum(sizes) == 3_500
    assert max(sizes) == 1_000
    assert len(sizes) <= 6
    shop.order("k-13")
    assert shop.json("activate ship")["jobs"][0]["variables"]["n"] == 13


def test_message_that_was_taken_after_it_was_kept_counts_as_taken(
    shop: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conjoin.cli.message.publish_file.AT_ONCE", 1)
    Path("start.bpmn").write_bytes(STARTED_BY_MESSAGE)
    shop.tells("deploy start.bpmn")
    placed = {"name": "placed", "key": "o-1", "ttl": "1h", "variables": {"orderId": "o-1"}}
    write([placed, placed, {"name": "paid", "key": "o-1"}])
    assert verdicts(shop.json("publish --file m.jsonl")) == {
        "correlated waiting_instance": 1,
        "correlated started_instance": 1,
        "correlated started_after_lock": 1,
    }


def test_file_without_messages_publishes_none(shop: Command) -> None:
    Path("m.jsonl").write_text("\n \n")
    assert shop.tells("publish --file m.jsonl").startswith("0 messages published in ")
