"""Instances that are filled without end, rows that contradict their instances or cannot be used: others are served."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.opening import create_broker
from conjoin.store import create_store
from conjoin.store import tables as t
from conjoin.store.port import Facts
from conjoin.store.rows import DefinitionRow, PolicyRow, ResourceRow
from tests.bpmn.snippets import BEGIN, END, PAID, catch, model, service
from tests.gateway.robust.serving import ServingProcess

WAIT_S = 40
LARGE = 3_900_000
"""Characters; a request has 4 MiB at most."""
MOST_MB = 1_500
PLANTED = 1_500
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


def test_a_store_with_rows_that_cannot_be_used_is_served_and_names_them(tmp_path: Path) -> None:
    """A policy and a model as another version of us, or a mishap, may have left them in the catalog."""
    store = create_store(tmp_path / "store", Facts(2, "zeebe", 0, unique_business_ids=False))
    assert store.catalog.append(0, {t.POLICY: [PolicyRow(1, "paid", "{", 0)]})
    model_rows = {
        t.RESOURCE: [ResourceRow("d", b"<no model/>")],
        t.DEFINITION: [DefinitionRow(9, 2, "<default>", "old", 1, "old.bpmn", "d", 0)],
    }
    assert store.catalog.append(1, model_rows)
    store.close()
    served = ServingProcess(tmp_path / "store")
    try:
        with httpx.Client(base_url=served.rest, timeout=60) as http:
            told = http.get("/conjoin/v1/policies").raise_for_status().json()
            assert [text.split(":")[0].split(",")[0] for text in told["not_in_force"]] == [
                "the policies set for 'paid' at catalog version 1 are not in force",
                "version 1 of the process 'old' is set apart",
            ]
            files = {"resources": ("a.bpmn", model(BEGIN + service("ring") + END, "begin>ring ring>end"))}
            http.post("/v2/deployments", files=files).raise_for_status()
            start(http, "order")
            refused = http.post("/v2/process-instances", json={"processDefinitionId": "old"})
            assert refused.status_code == 409
            assert "set apart" in refused.json()["detail"]
            http.put("/conjoin/v1/policies/paid", json={"dedup": "7d"}).raise_for_status()
            mended = http.get("/conjoin/v1/policies").json()
            assert mended["policies"] == {"paid": {"dedup": "7d"}}
            assert len(mended["not_in_force"]) == 1
    finally:
        assert served.stop() == 0
    assert "Traceback" not in served.complaints
    assert "is set apart" in served.complaints
