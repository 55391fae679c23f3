"""What a curious reader tries to see: names outside a role, hidden variables in notices, secrets in errors."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.gateway.models import with_message
from tests.gateway.robust.serving import COMMAND, ROOT, ServingProcess
from tests.gateway.security.secured import known
from tests.runtime.targets.servers import FakeTarget, running_target

LONGEST_S = 60.0
SECTIONS = """
[security]
callers = "callers.json"
redact = ["card"]
[security.roles.readers]
actions = ["read", "publish", "correlate"]
messages = ["order-*"]
processes = ["order-*"]
[notify]
"*" = {{ url = "{url}", variables = true }}
"""
SEARCHES = ("message-subscriptions", "correlated-message-subscriptions", "process-instances", "jobs", "incidents")


@pytest.fixture(scope="module")
def receiver() -> Iterator[FakeTarget]:
    with running_target() as target:
        yield target


@pytest.fixture(scope="module")
def clients(receiver: FakeTarget, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, httpx.Client]]:
    """By the names of callers: `admin`, and `readers` with a role for `order-*`. `secret` waits on the key o-1."""
    folder = tmp_path_factory.mktemp("hidden")
    tokens = known(folder / "callers.json", {"admin": "admin", "readers": "readers"})
    (folder / "conjoin.toml").write_text(SECTIONS.format(url=receiver.url))
    process = ServingProcess(folder / "store")
    found = {
        name: httpx.Client(base_url=process.rest, headers={"authorization": f"Bearer {token}"}, timeout=LONGEST_S)
        for name, token in tokens.items()
    }
    for name in ("secret", "order-a"):
        files = {"resources": (f"{name}.bpmn", with_message(name))}
        found["admin"].post("/v2/deployments", files=files).raise_for_status()
        body = {"processDefinitionId": name, "variables": {"orderId": "o-1"}}
        found["admin"].post("/v2/process-instances", json=body).raise_for_status()
    yield found
    for client in found.values():
        client.close()
    assert process.stop() == 0
    assert "Traceback" not in process.complaints


def test_near_misses_name_nobody_outside_a_role(clients: dict[str, httpx.Client]) -> None:
    asked = {"name": "order-x", "key": "o-1"}
    told = {
        name: http.post("/conjoin/v1/explain", json=asked).raise_for_status().text for name, http in clients.items()
    }
    assert "secret" in told["admin"]
    assert "secret" not in told["readers"]
    assert "order-a" in told["readers"]


def test_status_and_searches_show_nothing_outside_a_role(clients: dict[str, httpx.Client]) -> None:
    http = clients["readers"]
    pages = [http.get("/conjoin/v1/status").raise_for_status().text]
    pages += [http.post(f"/v2/{what}/search", json={}).raise_for_status().text for what in SEARCHES]
    assert [page for page in pages if "secret" in page] == []
    assert "order-a" in pages[0]
    assert "order-a" in pages[1]


def test_notices_carry_no_hidden_variable(clients: dict[str, httpx.Client], receiver: FakeTarget) -> None:
    variables = {"card": "41119999", "customer": [{"card": "41119999", "name": "Anna"}]}
    body = {"name": "none", "key": "k", "variables": variables}
    give_up = time.monotonic() + LONGEST_S
    while not receiver.seen:
        # A receiver hears of what happens after it was first served.
        clients["admin"].post("/conjoin/v1/messages", json=body).raise_for_status()
        assert time.monotonic() < give_up
        time.sleep(0.5)
    sent = b"".join(seen.body for seen in receiver.seen)
    assert b"Anna" in sent
    assert b"4111" not in sent


@pytest.mark.parametrize(
    "name",
    [
        "CONJOIN_NOTIFY",
        *(pytest.param(it, id=f"control: {it}") for it in ("CONJOIN_SECURITY", "CONJOIN_INBOX", "conjoin.toml")),
    ],
)
def test_an_error_in_settings_prints_no_secret(name: str, tmp_path: Path) -> None:
    """What stands in the wrong place, and what is beside it, may be a password."""
    wrong = {
        "CONJOIN_NOTIFY": ["sasl.password=hunter2"],
        "CONJOIN_SECURITY": {"callers": ["hunter2"], "password": "hunter2"},
        "CONJOIN_INBOX": {"targets": {"t": {"kind": "camunda7", "url": 7, "password": "hunter2", "token": "hunter2"}}},
    }
    if name == "conjoin.toml":
        (tmp_path / name).write_text('[notify]\nall = { url = 7, secret = "hunter2", password = "hunter2" }\n')
    said = subprocess.run(
        [sys.executable, *COMMAND, "serve", "--data", "store", "--rest-port", "0", "--grpc-port", "0"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), **({name: json.dumps(wrong[name])} if name in wrong else {})},
        timeout=LONGEST_S,
    )
    assert said.returncode == 2
    assert "hunter2" not in said.stderr + said.stdout
