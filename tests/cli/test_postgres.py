"""The same commands on a store on PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ORDER, Command


@pytest.fixture
def url(postgres_server: Any) -> Iterator[str]:
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


def test_order_lives_on_postgres_as_anywhere(url: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "make one with conjoin store init --store postgresql://" in command.cannot(f"status --store {url}")
    told = command.tells(f"init --shards 2 --store {url}")
    assert told.endswith("Next: conjoin model deploy order.bpmn --store URL")
    monkeypatch.setenv("CONJOIN_STORE", url)
    Path("order.bpmn").write_bytes(ORDER)
    command.tells("deploy order.bpmn")
    instance = command.order()
    assert command.open() == {"instances": 1, "subscriptions": 1}
    assert command.json("publish paid --key o-1")["taken_by"][0]["instance_key"] == instance
    Path("m.jsonl").write_text('{"name": "paid", "key": "o-2", "ttl": "1h"}\n' * 3)
    assert command.json("publish --file m.jsonl")["verdicts"][0]["count"] == 3
    command.tells(f"complete {command.job('ship')}")
    command.tells("tick")
    assert command.open() == {"buffered": 3}
    assert "already" in command.cannot("init")
