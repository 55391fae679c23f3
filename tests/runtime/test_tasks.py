"""What a Spark worker does with requests of a shard, called here: one that cannot be carried out fails alone."""

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conjoin.errors import EndlessRequest, StoreFailed
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.codec.orders import written_order
from conjoin.runtime.ingest.rows import SourcePosition
from conjoin.runtime.opening import create_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.carriers.spark_tasks import SourceRow, TaskRequest, TaskRow, run_task, take_rows
from conjoin.runtime.run.fold import Fold
from conjoin.runtime.run.working_set import working_set
from conjoin.store import tables as t

BAD = "bad"
Poison = Callable[[pytest.MonkeyPatch, Exception], None]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = create_broker(tmp_path / "store", 1)
    yield broker
    broker.close()


def while_it_is_carried_out(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    real = working_set.accepted

    def accepted(new: NewMessage, *about: Any) -> Any:
        if new.key.startswith(BAD):
            raise error
        return real(new, *about)

    monkeypatch.setattr(working_set, "accepted", accepted)


def while_it_is_loaded(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Nobody knows whose fault it is, unless it stands alone."""
    real = Fold.load

    def load(its: Fold, batch: Any) -> Any:
        if any(type(it) is NewMessage and it.key.startswith(BAD) for it in batch.requests):
            raise error
        return real(its, batch)

    monkeypatch.setattr(Fold, "load", load)


POISONS = pytest.mark.parametrize("poison", [while_it_is_carried_out, while_it_is_loaded])
ERRORS = pytest.mark.parametrize("error", [OverflowError("too large"), EndlessRequest(500)])
KEYS = ["a", "b", "bad-1", "c", "d", "e", "bad-2", "f"]


def asking(broker: Broker) -> TaskRequest:
    return TaskRequest(broker.store.address, "orders", broker.now, 0)


def source_rows() -> list[SourceRow]:
    return [
        SourceRow(
            NewMessage("paid", key, {"n": number}, 60_000, f"m-{number}"),
            ("p", number),
            SourcePosition("orders", "p", number),
        )
        for number, key in enumerate(KEYS)
    ]


def published(broker: Broker) -> list[str]:
    return [row.correlation_key for row in broker.store.rows(t.MESSAGE, {}, None, 100)]


def letters(broker: Broker) -> list[Any]:
    return list(broker.store.rows(t.DEAD_LETTER, {}, None, 100))


@POISONS
@ERRORS
@pytest.mark.parametrize("as_one", [False, True])
def test_a_row_that_cannot_be_carried_out_is_a_dead_letter_and_the_others_are_published_once(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, poison: Poison, error: Exception, as_one: bool
) -> None:
    poison(monkeypatch, error)
    taken = take_rows(asking(broker), 0, source_rows(), as_one)
    assert (taken.dead_letters, taken.repeated, sum(taken.verdicts.values())) == (2, 0, 6)
    assert published(broker) == ["a", "b", "c", "d", "e", "f"]
    found = letters(broker)
    assert [(it.part, it.position, it.reason) for it in found] == [("p", n, "not_carried_out") for n in (2, 6)]
    assert ("too large" if isinstance(error, OverflowError) else "no end in sight") in found[0].text
    again = {"name": "paid", "key": "bad-1", "id": "m-2", "ttl": 60_000, "variables": {"n": 2}, "tenant": "<default>"}
    assert read_json(found[0].raw) == again
    repeated = take_rows(asking(broker), 0, source_rows(), as_one)
    assert (repeated.repeated, len(published(broker)), len(letters(broker))) == (len(KEYS), 6, 2)
    assert [it.difference for it in verify_store(broker.store) if it.difference] == []


@POISONS
def test_rows_of_a_batch_without_places_are_still_one_commit(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, poison: Poison
) -> None:
    poison(monkeypatch, OverflowError("too large"))
    with broker.post.look(0) as snapshot:
        before = snapshot.head.version
    take_rows(asking(broker), 0, source_rows(), as_one=True)
    with broker.post.look(0) as snapshot:
        assert snapshot.head.version == before + 1


@POISONS
def test_what_the_store_cannot_do_fails_the_task_and_nothing_is_a_dead_letter(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, poison: Poison
) -> None:
    poison(monkeypatch, StoreFailed("the disk is full"))
    with pytest.raises(StoreFailed):
        take_rows(asking(broker), 0, source_rows())
    monkeypatch.undo()
    assert take_rows(asking(broker), 0, source_rows()).dead_letters == 0
    assert published(broker) == KEYS


@POISONS
@ERRORS
def test_a_request_that_cannot_be_carried_out_is_answered_with_its_error(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, poison: Poison, error: Exception
) -> None:
    poison(monkeypatch, error)
    rows = [TaskRow(0, number, json_text(written_order(row.request))) for number, row in enumerate(source_rows(), 1)]
    replies = {row.number: pickle.loads(row.reply) for row in run_task(asking(broker), rows)}
    assert [number for number, reply in replies.items() if isinstance(reply, Exception)] == [3, 7]
    assert published(broker) == ["a", "b", "c", "d", "e", "f"]
