"""schemathesis over our own OpenAPI document: what it says is taken is taken, what it says is refused is refused.

Statuses, types and shapes of all answers are compared with it; nothing is ever a mistake of the server's own.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conjoin.gateway.service import ServerLimits
from conjoin.gateway.serving import Served
from tests.gateway.rest.conftest import MODELS, Rest, RestThread

FOLDER = Path(__file__).parent
LONGEST_S = max(60, int(float(os.environ.get("SECONDS", "15"))))
EXAMPLES = 25
# Nobody shall wait for what does not happen.
QUICK = Served(grpc_port=0, rest_port=0, limits=ServerLimits(request_timeout_ms=2_000, long_poll_ms=50))


@pytest.fixture
def server() -> Iterator[RestThread]:
    server = RestThread(2, QUICK)
    with Rest(base_url=server.rest, timeout=30) as client:
        for content in MODELS:
            client.deploy(content)
        client.create("people", {"groups": ["a"]})
        client.create("stuck")
    yield server
    server.stop()


def test_schemathesis_finds_nothing(server: RestThread, tmp_path: Path, seed: int) -> None:
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(FOLDER / "schemathesis.toml")]
    how = ["--seed", str(seed), "--max-examples", str(EXAMPLES), "--max-time", str(LONGEST_S), "--no-color"]
    what = ["--generation-allow-x00", "false", "--generation-database", "none"]
    told = subprocess.run(
        [*command, "run", f"{server.rest}/openapi.json", *how, *what],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        timeout=10 * LONGEST_S,
    )
    assert told.returncode == 0, told.stdout + told.stderr
