"""In a worker: a message or a row that cannot be carried out fails alone, and the task goes on. Called here."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conjoin.kernel.inbox.message import DONE
from conjoin.pipeline.inbox.draining import DrainRound, drain
from conjoin.pipeline.ingest.arrivals import take_arrivals
from conjoin.pipeline.ingest.packs import IngestRow
from conjoin.runtime.inbox.on_shard import fold
from conjoin.runtime.inbox.on_shard.arrivals import keep_arrivals
from conjoin.runtime.inbox.requests import InboxArrivals
from conjoin.runtime.inbox.rows import read_row
from conjoin.runtime.run.carriers.spark_tasks import TaskRequest
from conjoin.store import tables as t
from tests.pipeline.inbox.stores import SHARDS, make
from tests.runtime.inbox.bench import Bench, preset
from tests.runtime.inbox.test_failing import in_the_commit, in_the_offer

KEYS = [f"o-{number}" for number in range(12)]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = make(tmp_path / "store", preset(mode="all"))
    yield bench
    bench.broker.close()


def run(bench: Bench) -> None:
    """A task for each shard, as a job has it, and what is left between them."""
    now = bench.broker.now
    for shard in range(SHARDS):
        drain(DrainRound(bench.broker.store.address, now, now, bench.settings, 100, 60.0, {shard: []}, [shard]), shard)
    bench.broker.post.deliver()


@pytest.mark.parametrize("poison", [in_the_offer, in_the_commit])
def test_a_message_that_cannot_be_tried_has_failed_and_the_others_are_taken(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, poison: Any
) -> None:
    bench.wait(*KEYS)
    bench.send_many([bench.arrival(key, key) for key in KEYS])
    poison(monkeypatch, bench.row("o-3").key)
    run(bench)
    states = bench.states()
    assert {key for key in KEYS if states[key] != DONE} == {"o-3"}
    assert bench.row("o-3").error_kind == "target_error"
    assert "OverflowError: too large" in bench.row("o-3").error_text


def test_mail_that_cannot_be_taken_is_set_aside_and_the_messages_are_tried(bench: Bench) -> None:
    bench.wait(*KEYS)
    bench.send_many([bench.arrival(key, key) for key in KEYS])
    store = bench.broker.store
    plant_mail(Path(store.address) / "shard-00.db")
    run(bench)
    assert set(bench.states().values()) == {DONE}
    assert [row.kind for row in store.rows(t.SET_ASIDE, {}, None, 9)] == ["mail"]


def plant_mail(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "insert into outbox (seq, receiver, counter, command) select sent + 1, 1, 0, '[\"Nonsense\"]' from shard"
        )
        connection.execute("update shard set sent = sent + 1")


def test_a_row_that_cannot_be_stored_is_a_dead_letter_and_the_others_are_stored_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.send_many([bench.arrival(key, key) for key in KEYS])
    filed = [read_row(row) for row in bench.rows()]
    rows = [
        IngestRow(0, "p", number, it._replace(message=it.message._replace(message_id=f"new-{number}", payload=b"{}")))
        for number, it in enumerate(filed)
    ]

    def keep(work: Any, request: InboxArrivals) -> Any:
        if any(it.message.message_id == "new-5" for it in request.arrivals):
            raise OverflowError("too large")
        return keep_arrivals(work, request)

    monkeypatch.setitem(fold._CARRY_OUT, InboxArrivals, keep)
    asking = TaskRequest(bench.broker.store.address, "files", bench.broker.now, 0)
    figures = {"rows": 12, "repeated": 0, "persisted": 11, "dead_letters": 1, "duplicates": 0}
    assert take_arrivals(asking, 0, rows) == figures
    [letter] = bench.broker.store.rows(t.DEAD_LETTER, {}, None, 9)
    found = (letter.source, letter.part, letter.position, letter.reason, letter.raw)
    assert found == ("orders", "p", 5, "not_carried_out", b"{}")
    assert take_arrivals(asking, 0, rows) == {"rows": 12, "repeated": 12}
