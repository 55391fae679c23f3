"""A server under attack: whoever behaves is served all the time, memory stays bounded, and the store stays clean."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from conjoin.runtime.opening import open_broker
from conjoin.runtime.reading.lists import ListQuery, list_page
from tests.gateway.grpc_client import HOUR_MS, Client
from tests.gateway.robust.serving import COMMAND, ROOT, ServingProcess

SECONDS = float(os.environ.get("SECONDS", "15"))
LONGEST_ANSWER_S = 5.0
"""The machine is shared with those who attack."""
MOST_MB = 600
PAUSE_S = 0.02


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServingProcess]:
    it = ServingProcess(tmp_path / "store")
    yield it
    it.kill()


def test_server_under_attack_serves_whoever_behaves(server: ServingProcess, tmp_path: Path, seed: int) -> None:
    where = ("--rest", f"{server.host}:{server.rest_port}", "--grpc", server.grpc)
    how = ("--seconds", str(SECONDS), "--seed", str(seed))
    line = [sys.executable, "-m", "tests.gateway.robust.attacking", *where, *how]
    attackers = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        published, most_mb = behave(server, attackers)
        made = attackers.communicate(timeout=60)[0]
    finally:
        attackers.kill()
    again = f"again: SEED={seed} SECONDS={SECONDS:g}\n{made}"
    assert attackers.returncode == 0, again
    assert most_mb < MOST_MB, again
    assert server.stop() == 0, again
    assert server.complaints == "", again
    assert verified(tmp_path / "store"), again
    assert kept(tmp_path / "store") == published, again


def behave(server: ServingProcess, attackers: "subprocess.Popen[str]") -> tuple[list[str], int]:
    """Publish one after the other as long as they attack: what was published, and how large the server became."""
    published, most_mb = [], 0
    client = Client(server.grpc)
    with closing(client), httpx.Client(base_url=server.rest, timeout=LONGEST_ANSWER_S) as rest:
        while attackers.poll() is None:
            key = f"k-{len(published)}"
            client.PublishMessage(name="good", correlationKey=key, timeToLive=HOUR_MS, deadline_s=LONGEST_ANSWER_S)
            answer = rest.post("/v2/messages/publication", json={"name": "better", "correlationKey": key})
            assert answer.status_code == 200, answer.text
            published.append(key)
            most_mb = max(most_mb, server.memory_mb)
            time.sleep(PAUSE_S)
    return published, most_mb


def verified(store: Path, url: str | None = None) -> bool:
    """The log replays to what the store holds: the folder, or the database of a URL."""
    where = ("--store", url) if url else ("--data", str(store))
    return subprocess.run([sys.executable, *COMMAND, "verify", *where], cwd=store.parent).returncode == 0


def kept(store: Path) -> list[str]:
    with closing(open_broker(store)) as broker:
        found = list_page(broker, "messages", ListQuery({"name": "good"}, limit=100_000)).items
    return [it.correlation_key for it in sorted(found, key=lambda it: it.published_at)]
