"""The history of an instance from the log: all of its own, nothing of others, and honest about what is missing."""

from typing import Any

import pytest

from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.reading.instance_history import InstanceHistory, history_of
from conjoin.runtime.run.log import read_wanted
from conjoin.runtime.upkeep.removal import HouseKeeper
from conjoin.store import tables as t
from tests.bpmn.snippets import BEGIN, END, boundary, catch, message, model, service, timer
from tests.runtime.broker_bench import JOURNEY, Bench

ERRAND = model(
    BEGIN + service("ask") + catch("wait") + boundary("late", "ask", timer("timeDuration", "P3D")) + END,
    "begin>ask ask>wait wait>end late>wait",
    message("paid_message", "paid", "=orderId"),
)


def history(bench: Bench, key: int, patience_s: float = 60.0) -> InstanceHistory:
    [row] = bench.store.rows(t.INSTANCE, {"key": key}, None, 1)
    return history_of(bench.broker, row, patience_s)


def told(found: InstanceHistory) -> list[str]:
    return [" ".join(part for part in (it.kind, it.element_id, it.detail) if part) for it in found.moments]


def test_history_tells_jobs_incidents_variables_and_messages_in_their_order() -> None:
    bench = Bench(1)
    bench.deploy(ERRAND)
    other, mine = bench.start("order", {"orderId": "o-2"}), bench.start("order", {"size": "M"})
    bench.wait_ms(1_000)
    jobs = bench.broker.activate_jobs("ask", 2, worker="w")
    for job in jobs:
        bench.broker.complete_job(job.key, {"asked": True})
    [incident] = bench.store.rows(t.INCIDENT, {}, None, 9)
    bench.broker.set_variables(mine, {"orderId": "o-1"})
    bench.broker.resolve_incident(incident.key)
    bench.publish("paid", "o-2")
    taken = bench.publish("paid", "o-1")
    found = history(bench, mine)
    assert told(found) == [
        *("started by command", "entered begin", "left begin", "entered ask", "waits late for a timer"),
        *("job ask of type ask", "job ask given to w", "job ask completed", "variables"),
        *("left ask", "entered wait", f"incident wait {incident.text}", "variables"),
        *("incident wait resolved", "waits wait for a message", "message wait correlated", "left wait"),
        *("entered end", "left end", "completed"),
    ]
    assert [it.message_key for it in found.moments if it.message_key] == [taken]
    assert found.moments[0].at + 1_000_000 == next(it.at for it in found.moments if it.detail == "given to w")
    assert (found.looked_to, found.begins_at, found.left_out) == (None, None, 0)
    assert len(told(history(bench, other))) == len(told(found)) - 3


def test_message_that_was_correlated_on_another_shard_is_told() -> None:
    bench = Bench(2)
    bench.deploy(JOURNEY)
    city = next(f"c-{n}" for n in range(99) if shard_of(f"c-{n}", 2) != shard_of("t-1", 2))
    key = bench.start("journey", {"train": "t-1", "city": city})
    bench.publish("left", "t-1")
    far = bench.publish("arrived", city)
    assert [it.message_key for it in history(bench, key).moments if it.kind == "message"][-1] == far


def test_commits_before_it_began_and_after_it_ended_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(1)
    bench.deploy()

    def others(number: int) -> None:
        for _ in range(number):
            bench.wait_ms(10)
            bench.publish("nobody", "knows")

    others(60)
    key = bench.start()
    others(3)
    bench.broker.cancel_instance(key)
    others(60)
    read: list[bytes] = []

    def counting(block: bytes, is_wanted: Any) -> Any:
        read.append(block)
        return read_wanted(block, is_wanted)

    monkeypatch.setattr("conjoin.runtime.reading.instance_history.read_wanted", counting)
    found = history(bench, key)
    assert (told(found)[0], told(found)[-1]) == ("started by command", "cancelled")
    assert len(read) < 10


def test_who_has_no_time_is_told_how_far_the_log_was_read() -> None:
    bench = Bench(1)
    bench.deploy()
    key = bench.start()
    began = bench.clock()
    bench.wait_ms(1_000)
    bench.broker.set_variables(key, {"later": 1})
    cut = history(bench, key, patience_s=-1.0)
    assert (cut.looked_to, "variables" in told(cut)) == (began, False)
    assert "variables" in told(history(bench, key))


def test_log_without_its_head_is_told_to_begin_later() -> None:
    bench = Bench(1)
    bench.deploy()
    key = bench.start()
    bench.wait_ms(1_000)
    bench.publish()
    keeper = HouseKeeper(bench.store, 0)
    assert sum(keeper.remove_log("version", 3))
    found = history(bench, key)
    keeper.close()
    assert found.begins_at == bench.clock()
    assert told(found)[:1] == ["entered ship"]
