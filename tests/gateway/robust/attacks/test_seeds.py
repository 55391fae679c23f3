"""What the documents of the field print, sent to a served store as it is printed."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.bpmn.snippets import BEGIN, END, PAID, catch, model
from tests.gateway.models import started_by_message, with_message
from tests.gateway.robust.serving import COMMAND, ServingProcess

DOCUMENTS = Path(__file__).parents[4] / "examples/documents"
SETTINGS = """
profile: {profile}
correlate:
  batch:
    mode: all
    query:    # query scheduler
      pollInitialDelay: PT10S
      pollInterval: PT6S
  retry:
    retryMaxBackoffMinutes: 5
    retryBackoffBase: 2.0
"""
STORY = """
title: everybody who waits gets it
models: [order.bpmn]
policies: {paid: {cardinality: once_per_instance}}
steps:
  - start: {process: order, variables: {orderId: o-1}}
  - start: {process: order, variables: {orderId: o-1}}
  - publish: {name: paid, key: o-1}
"""


def serve(folder: Path, settings: str, name: str) -> Iterator[httpx.Client]:
    (folder / name).write_text(settings)
    process = ServingProcess(folder / "store")
    with httpx.Client(base_url=process.rest, timeout=30) as client:
        yield client
    assert process.stop() == 0
    assert "Traceback" not in process.complaints


@pytest.fixture(scope="module")
def fleans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("fleans")
    yield from serve(folder, SETTINGS.format(profile="fleans"), "conjoin.yaml")


@pytest.fixture(scope="module")
def zeebe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    yield from serve(tmp_path_factory.mktemp("zeebe"), "[inbox]\n", "conjoin.toml")


def deploy(http: httpx.Client, content: bytes) -> None:
    http.post("/v2/deployments", files={"resources": ("model.bpmn", content)}).raise_for_status()


def start(http: httpx.Client, process: str, **variables: object) -> str:
    body = {"processDefinitionId": process, "variables": variables}
    return str(http.post("/v2/process-instances", json=body).raise_for_status().json()["processInstanceKey"])


def deliver(http: httpx.Client, **body: object) -> tuple[int, bool]:
    answer = http.post("/api/workflow/message", json=body)
    return answer.status_code, answer.json()["delivered"]


def state(http: httpx.Client, instance: str) -> object:
    return http.get(f"/v2/process-instances/{instance}").raise_for_status().json()["state"]


def test_camunda_8_style_example_runs_as_it_is_printed(fleans: httpx.Client) -> None:
    deploy(fleans, (DOCUMENTS / "camunda8_style.bpmn").read_bytes())
    order = start(fleans, "orderProcess", orderId="order-123")
    sent = {"messageName": "paymentReceived", "variables": {"amount": 150.00}}
    assert deliver(fleans, **sent, correlationKey="order-124") == (404, False)
    assert deliver(fleans, **sent, correlationKey="order-123") == (200, True)
    assert state(fleans, order) == "COMPLETED"


def test_camunda_7_style_example_runs_as_it_is_printed(fleans: httpx.Client) -> None:
    deploy(fleans, (DOCUMENTS / "camunda7_style.bpmn").read_bytes().replace(b"orderProcess", b"keylessProcess"))
    order = start(fleans, "keylessProcess")
    assert deliver(fleans, messageName="paymentReceived") == (200, True)
    assert state(fleans, order) == "COMPLETED"


def test_printed_examples_are_refused_by_zeebe(zeebe: httpx.Client) -> None:
    """Control: the kindness ends where the profile does."""
    for file in sorted(DOCUMENTS.glob("*.bpmn")):
        files = {"resources": (file.name, file.read_bytes())}
        assert zeebe.post("/v2/deployments", files=files).status_code == 400


def test_fleans_endpoint_starts_no_instance_in_a_store_of_zeebe(zeebe: httpx.Client) -> None:
    deploy(zeebe, with_message("waits"))
    deploy(zeebe, started_by_message("started", "waits"))
    waiting = start(zeebe, "waits", orderId="o-1")
    assert deliver(zeebe, messageName="waits", correlationKey="o-2") == (404, False)
    assert deliver(zeebe, messageName="waits", correlationKey="o-1") == (200, True)
    assert state(zeebe, waiting) == "COMPLETED"
    found = zeebe.post("/v2/process-instances/search", json={"filter": {"processDefinitionId": "started"}})
    assert found.raise_for_status().json()["items"] == []


def test_of_two_subscriptions_that_of_zeebe_counts(zeebe: httpx.Client) -> None:
    two = '<fleans:subscription correlationKey="=other"/><zeebe:subscription correlationKey="=orderId"/>'
    heard = f'<message id="paid_message" name="both"><extensionElements>{two}</extensionElements></message>'
    content = model(BEGIN + catch("paid") + END, "begin>paid paid>end", heard)
    deploy(zeebe, content.replace(b'process id="order"', b'process id="both"'))
    waiting = start(zeebe, "both", orderId="o-1", other="o-2")
    assert deliver(zeebe, messageName="both", correlationKey="o-2") == (404, False)
    assert deliver(zeebe, messageName="both", correlationKey="o-1") == (200, True)
    assert state(zeebe, waiting) == "COMPLETED"


def test_rules_of_the_older_pages_are_a_profile(tmp_path: Path) -> None:
    """The key is the name of a variable, and a message reaches every instance once, also those that come later."""
    for http in serve(tmp_path, 'profile = "zeebe-0.2x"\n', "conjoin.toml"):
        deploy(http, model(BEGIN + catch("paid") + END, "begin>paid paid>end", PAID.replace("=orderId", "orderId")))
        first = [start(http, "order", orderId="o-1") for _ in range(2)]
        http.post("/conjoin/v1/messages", json={"name": "paid", "key": "o-1", "ttl": "1h"}).raise_for_status()
        assert [state(http, it) for it in (*first, start(http, "order", orderId="o-1"))] == ["COMPLETED"] * 3


def attempts(http: httpx.Client, name: str) -> int:
    [item] = http.get("/conjoin/v1/inbox", params={"id": name}).raise_for_status().json()["items"]
    return int(http.get(f"/conjoin/v1/inbox/messages/{item['key']}").json()["attempts"])


def test_errors_within_the_grace_of_a_policy_do_not_count(tmp_path: Path) -> None:
    settings = '[inbox]\npoll_interval = "100ms"\npoll_initial_delay = "0s"\n[inbox.channels.orders]\n'
    for http in serve(tmp_path, settings, "conjoin.toml"):
        http.put("/conjoin/v1/policies/graced", json={"grace": "1h"}).raise_for_status()
        for name in ("graced", "counted"):
            row = {"id": name, "name": name, "key": name}
            assert http.post("/conjoin/v1/inbox/orders", json=row).status_code == 202

        give_up = time.monotonic() + 30
        while not attempts(http, "counted"):
            assert time.monotonic() < give_up
            time.sleep(0.1)
        assert attempts(http, "graced") == 0


def test_stories_take_policies(tmp_path: Path) -> None:
    """Those of the older pages: a message for everybody who waits."""
    (tmp_path / "order.bpmn").write_bytes(model(BEGIN + catch("paid") + END, "begin>paid paid>end", PAID))
    (tmp_path / "story.yaml").write_text(STORY)
    said = subprocess.run(
        [sys.executable, *COMMAND, "scenario", "run", "story.yaml", "--models", "."],
        **{"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60},
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert [it["state"] for it in json.loads(said.stdout)["outcome"]["instances"]] == ["completed"] * 2


@pytest.mark.parametrize("served", ["fleans", "zeebe"])
def test_empty_and_printed_inboxes_are_inboxes(served: str, request: pytest.FixtureRequest) -> None:
    http: httpx.Client = request.getfixturevalue(served)
    assert http.get("/conjoin/v1/inbox").status_code == 200
