"""Models that go round without end, where nobody waits for them: by timers that are due at once, by signals from shard
to shard. They cost what they cost; timers, jobs, messages and mail of others go on."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.bpmn.snippets import BEGIN, END, model, service, timer
from tests.gateway.robust.serving import ServingProcess
from tests.runtime.test_travels import circle

LONGEST_S = 90.0
CROWD = 400


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingProcess]:
    process = ServingProcess(tmp_path_factory.mktemp("more") / "store")
    yield process
    assert process.stop() == 0
    assert "Traceback" not in process.complaints


@pytest.fixture(scope="module")
def http(served: ServingProcess) -> Iterator[httpx.Client]:
    at_once = f'<intermediateCatchEvent id="at_once">{timer("timeDuration", "PT0S")}</intermediateCatchEvent>\n'
    with httpx.Client(base_url=served.rest, timeout=LONGEST_S) as client:
        for name, content in {
            "restless": model(BEGIN + '<exclusiveGateway id="g"/>\n' + at_once, "begin>g g>at_once at_once>g"),
            "timers": model(BEGIN + at_once.replace("PT0S", "PT0.5S") + END, "begin>at_once at_once>end"),
            "worked": model(BEGIN + service("work") + END, "begin>work work>end"),
            "circle": circle(2),
        }.items():
            named = content.replace(b'id="order"', f'id="{name}"'.encode())
            client.post("/v2/deployments", files={"resources": ("a.bpmn", named)}).raise_for_status()
        yield client


def until(holds: Callable[[], Any]) -> Any:
    give_up = time.monotonic() + LONGEST_S
    while not (found := holds()):
        assert time.monotonic() < give_up
        time.sleep(0.05)
    return found


def start(http: httpx.Client, process_id: str) -> str:
    answer = http.post("/v2/process-instances", json={"processDefinitionId": process_id}).raise_for_status()
    return str(answer.json()["processInstanceKey"])


def check_timers(http: httpx.Client) -> None:
    started = [start(http, "timers") for _ in range(6)]
    ways = [f"/v2/process-instances/{instance}" for instance in started]
    until(lambda: all(http.get(way).json()["state"] == "COMPLETED" for way in ways))


def activated(http: httpx.Client, wait_ms: int) -> list[str]:
    wanted = {"type": "work", "worker": "w", "maxJobsToActivate": 1, "timeout": 60_000, "requestTimeout": wait_ms}
    return [job["jobKey"] for job in http.post("/v2/jobs/activation", json=wanted).raise_for_status().json()["jobs"]]


def test_signals_that_go_from_shard_to_shard_without_end_are_set_aside(http: httpx.Client) -> None:
    """They multiply, too: each instance throws two, and each of these starts one."""
    http.post("/v2/signals/broadcast", json={"signalName": "again"})
    check_timers(http)
    items = until(lambda: http.get("/conjoin/v1/set-aside").json()["items"])
    assert all("no end in sight" in item["reason"] for item in items)
    check_timers(http)
    until(lambda: http.get("/health/ready").json()["status"] == "UP")


def test_timers_that_set_new_ones_at_once_leave_jobs_and_messages_their_turn(http: httpx.Client) -> None:
    for _ in range(CROWD):
        start(http, "restless")
    start(http, "worked")
    [job] = activated(http, 10_000)
    http.post(f"/v2/jobs/{job}/failure", json={"retries": 2, "retryBackOff": 300}).raise_for_status()
    assert activated(http, 60_000) == [job]
    body = {"name": "none", "key": "k", "ttl": "300ms", "wait_ms": 30_000}
    assert http.post("/conjoin/v1/messages", json=body).raise_for_status().json()["verdict"] == "expired"
    check_timers(http)
