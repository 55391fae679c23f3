"""What the documents of the field print, sent to a served store as it is printed."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.gateway.models import started_by_message, with_message
from tests.gateway.robust.serving import ServingProcess

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


def _served(folder: Path, settings: str, name: str) -> Iterator[httpx.Client]:
    (folder / name).write_text(settings)
    process = ServingProcess(folder / "store")
    with httpx.Client(base_url=process.rest, timeout=30) as client:
        yield client
    assert process.stop() == 0
    assert "Traceback" not in process.complaints


@pytest.fixture(scope="module")
def fleans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("fleans")
    yield from _served(folder, SETTINGS.format(profile="fleans"), "conjoin.yaml")


@pytest.fixture(scope="module")
def zeebe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    yield from _served(tmp_path_factory.mktemp("zeebe"), "[inbox]\n", "conjoin.toml")


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


@pytest.mark.parametrize("served", ["fleans", "zeebe"])
def test_empty_and_printed_inboxes_are_inboxes(served: str, request: pytest.FixtureRequest) -> None:
    http: httpx.Client = request.getfixturevalue(served)
    assert http.get("/conjoin/v1/inbox").status_code == 200
