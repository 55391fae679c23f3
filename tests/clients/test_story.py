"""The official clients, unchanged: each tells the order-to-cash story from deployment to the last incident.

What a client sees is asserted by its own program. What is left behind is the same for all of them, and is read from the
store with our own command.
"""

import json
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from tests.cli.command import Command
from tests.clients.programs_run import MODELS, STORIES, run
from tests.clients.served import Served

ENDS = {
    **dict.fromkeys(("late", "early", "expired", "stuck"), "completed"),
    **dict.fromkeys(("first", "second"), "terminated"),
}


@pytest.mark.parametrize("client", STORIES)
def test_client_tells_the_order_to_cash_story(
    client: str, server: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = STORIES[client]
    if not program.is_fetched:
        pytest.skip("the clients are not there: scripts/setup-clients fetches them")
    model = tmp_path / "order_to_cash.bpmn"
    model.write_text((MODELS / model.name).read_text().replace("CLIENT", client))
    told = json.loads(run(program, server, client, model))
    command = Command(capsys)
    assert _ends(command, server, client, {str(key): name for name, key in told.items()}) == ENDS
    _messages_had_their_fates(_swept(command, server, f"money-collected-{client}"))
    assert _verdicts(command, server, f"order-placed-{client}") == {"locked": ["correlated", "correlated"]}
    assert _listed(command, server, f"jobs list --process order-to-cash-{client}") == []


def _ends(command: Command, server: Served, client: str, names: dict[str, str]) -> dict[str, str]:
    instances = _listed(command, server, f"instances list --process order-to-cash-{client}")
    return {names[it["key"]]: it["state"] for it in instances}


def _verdicts(command: Command, server: Served, name: str) -> dict[str, list[str]]:
    """By correlation key, those of its messages in the order they came."""
    verdicts: dict[str, list[str]] = {}
    for it in sorted(_listed(command, server, f"messages list --name {name}"), key=lambda it: it["published_at"]):
        verdicts.setdefault(it["correlation_key"], []).append(it["verdict"])
    return verdicts


def _swept(command: Command, server: Served, name: str) -> dict[str, list[str]]:
    """What has expired is written down by the next sweep."""
    until = monotonic() + 10
    while (verdicts := _verdicts(command, server, name))["expired"][0] == "buffered" and monotonic() < until:
        sleep(0.2)
    return verdicts


def _messages_had_their_fates(verdicts: dict[str, list[str]]) -> None:
    expired = verdicts.pop("expired")
    paid = {name: ["correlated"] for name in ("late", "early", "stuck")}
    assert verdicts == paid | {"twice": ["buffered", "refused"]}
    # Between them the id was tried until it was free, and whoever can correlate had nobody to correlate with.
    assert (expired[0], expired[-1]) == ("expired", "correlated")
    assert {"refused", "discarded"} >= set(expired[1:-1]) >= {"discarded"}


def _listed(command: Command, server: Served, line: str) -> list[dict[str, Any]]:
    return [json.loads(it) for it in command.tells(f"{line} --limit 1000 --json --data {server.store}").splitlines()]
