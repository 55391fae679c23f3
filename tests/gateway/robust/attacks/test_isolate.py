"""Instances that are filled without end, and rows in the index that contradict their instances: others are served."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.opening import create_broker
from tests.bpmn.snippets import BEGIN, END, PAID, catch, model
from tests.gateway.robust.serving import ServingProcess

WAIT_S = 40
LARGE = 3_900_000
"""Characters; a request has 4 MiB at most."""
MOST_MB = 1_500
PLANTED = 300
TIMERS = model(
    BEGIN + '<intermediateCatchEvent id="wait"><timerEventDefinition><timeDuration>PT1S</timeDuration>'
    "</timerEventDefinition></intermediateCatchEvent>" + END,
    "begin>wait wait>end",
).replace(b'process id="order"', b'process id="timers"')


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingProcess]:
    store = tmp_path_factory.mktemp("isolate") / "store"
    with closing(create_broker(store, 1)) as broker:
        order = model(BEGIN + catch("paid"), "begin>paid paid>paid", PAID)
        broker.deploy([("order.bpmn", order), ("timers.bpmn", TIMERS)])
        created = broker.create_instance("timers", {})
        assert isinstance(created, CreatedInstance)
    plant(store / "shard-00.db", created.key)
    process = ServingProcess(store)
    yield process
    assert process.stop() == 0


def plant(file: Path, instance: int) -> None:
    """Due timers that the instance does not have, earlier than all others."""
    with closing(sqlite3.connect(file)) as connection, connection:
        names = [name for _, name, *_ in connection.execute("pragma table_info(timer)")]
        [row] = connection.execute("select * from timer where instance_key = ?", [instance])
        for key in range(1, PLANTED + 1):
            planted = {**dict(zip(names, row, strict=True)), "key": key, "due_at": key}
            connection.execute(f"insert into timer values ({','.join('?' * len(names))})", list(planted.values()))


@pytest.fixture(scope="module")
def http(served: ServingProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.rest, timeout=60) as client:
        yield client


def start(http: httpx.Client, process_id: str, **variables: object) -> str:
    body = {"processDefinitionId": process_id, "variables": variables}
    return str(http.post("/v2/process-instances", json=body).raise_for_status().json()["processInstanceKey"])


def publish(http: httpx.Client, key: str, **variables: object) -> httpx.Response:
    body = {"name": "paid", "correlationKey": key, "timeToLive": 0, "variables": variables}
    return http.post("/v2/messages/publication", json=body)


def test_an_instance_that_is_filled_is_refused_more_and_others_are_served(
    served: ServingProcess, http: httpx.Client
) -> None:
    start(http, "order", orderId="full")
    start(http, "order", orderId="other")
    answers = [publish(http, "full", **{f"v-{number}": "x" * LARGE}) for number in range(20)]
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {200, 409}
    assert statuses == sorted(statuses)
    assert "bytes, and 67,108,864 are allowed" in answers[-1].text
    assert publish(http, "other", a=1).status_code == 200
    assert http.get("/health/ready").status_code == 200
    assert served.peak_mb < MOST_MB


def test_due_rows_that_no_instance_knows_of_stop_no_timer(http: httpx.Client) -> None:
    instance = start(http, "timers")
    give_up = time.monotonic() + WAIT_S
    while http.get(f"/v2/process-instances/{instance}").raise_for_status().json()["state"] != "COMPLETED":
        assert time.monotonic() < give_up
        time.sleep(0.05)
    items = http.get("/conjoin/v1/set-aside", params={"kind": "timer"}).raise_for_status().json()["items"]
    assert "its instance does not have it" in items[0]["reason"]
