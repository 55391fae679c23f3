"""Every call of `/v2` that our document describes, through a client with the official schemas on both ways."""

import json
import urllib.request
from pathlib import Path

import pytest

from tests.clients.programs_run import EVERY_CALL, MODELS, run
from tests.clients.served import Served


@pytest.mark.skipif(not EVERY_CALL.is_fetched, reason="the clients are not there: scripts/setup-clients fetches them")
def test_official_schemas_accept_every_call_that_is_answered(server: Served) -> None:
    called = json.loads(run(EVERY_CALL, server, "every-call", Path(MODELS / "every_call.bpmn")))
    with urllib.request.urlopen(f"{server.rest}/openapi.json") as answer:
        paths = json.load(answer)["paths"]
    described = {it["operationId"] for path, of in paths.items() if path.startswith("/v2") for it in of.values()}
    assert described - set(called) == set()
