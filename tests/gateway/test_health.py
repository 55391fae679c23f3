"""Health says what matters: a shard that cannot commit or hangs makes it DOWN, and it is UP again by itself."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import httpx
import pytest

from conjoin import fault_points
from conjoin.errors import StoreFailed
from conjoin.runtime.upkeep import supervision
from tests.gateway.server_thread import ServerThread

WAIT_S = 40
PUBLICATION = {"name": "paid", "correlationKey": "o-1", "timeToLive": 60_000}


@pytest.fixture
def server() -> Iterator[ServerThread]:
    server = ServerThread(2)
    yield server
    fault_points.disarm()
    server.stop()


def ready(server: ServerThread) -> Any:
    answer = httpx.get(f"{server.rest}/health/ready", timeout=30)
    told = answer.json()
    assert (answer.status_code == 200) == (told["status"] == "UP")
    return told


def until(server: ServerThread, status: str) -> Any:
    give_up = time.monotonic() + WAIT_S
    while (told := ready(server))["status"] != status:
        assert time.monotonic() < give_up, told
        time.sleep(0.01)
    return told


def test_every_shard_and_sweep_is_named(server: ServerThread) -> None:
    told = until(server, "UP")
    assert {"shard-0", "shard-1", "sweep-0", "sweep-1", "mail"} <= {job["name"] for job in told["jobs"]}
    assert (told["problems"], told["set_aside"]) == ([], 0)


def test_a_shard_that_cannot_commit_is_named_until_it_can(server: ServerThread) -> None:
    def full() -> None:
        raise StoreFailed("the disk is full")

    class Always:
        def pass_by(self, point: str) -> None:
            if point == "writing":
                full()

    fault_points.arm_with(Always())
    assert httpx.post(f"{server.rest}/v2/messages/publication", json=PUBLICATION, timeout=30).status_code >= 500
    assert "the disk is full" in str(until(server, "DOWN")["problems"])
    fault_points.disarm()
    assert until(server, "UP")["problems"] == []


def test_a_shard_that_hangs_is_named_and_nobody_waits_for_the_answer(
    server: ServerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "LATE_S", 0.2)
    go_on = Event()
    wait: Callable[[], None] = lambda: go_on.wait(WAIT_S) and None  # noqa: E731
    fault_points.arm("begun", 1, wait)
    with ThreadPoolExecutor(1) as thread:
        published = thread.submit(httpx.post, f"{server.rest}/v2/messages/publication", json=PUBLICATION, timeout=60)
        try:
            assert "carrying out" in str(until(server, "DOWN")["problems"])
        finally:
            go_on.set()
        assert published.result().status_code in (200, 504)
    monkeypatch.undo()
    until(server, "UP")
