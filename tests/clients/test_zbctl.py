"""zbctl: the lines of Zeebe's documents as they stand on our page, and the commands that the story has no use for."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Command
from tests.clients.programs_run import MODELS, STORIES
from tests.clients.served import Served
from tests.clients.zbctl import Zbctl

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
(LINES,) = re.findall(r"^```sh zbctl\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
SECONDS, HOUR = timedelta(seconds=5), timedelta(hours=1)

pytestmark = pytest.mark.skipif(
    not STORIES["zbctl"].is_fetched, reason="the clients are not there: scripts/setup-clients fetches them"
)


@pytest.fixture
def zbctl(server: Served, tmp_path: Path) -> Zbctl:
    return Zbctl(server, tmp_path)


def test_lines_of_the_documents_run_as_written(
    zbctl: Zbctl, server: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = LINES.splitlines()
    for line in lines:
        assert int(json.loads(zbctl.does(line))["key"]) > 0
    refusal = zbctl.cannot(lines[-1])
    assert "code = AlreadyExists" in refusal
    assert "'Money collected' with key 'order-123'" in refusal
    listed = Command(capsys).tells(f"messages list --name 'Money collected' --json --data {server.store}")
    kept = [_kept_for(json.loads(it)) for it in listed.splitlines()]
    assert kept == [SECONDS, HOUR, SECONDS, SECONDS]


def _kept_for(message: dict[str, str]) -> timedelta:
    published, deadline = (datetime.fromisoformat(message[name]) for name in ("published_at", "deadline_at"))
    return deadline - published


def test_other_commands_are_answered(zbctl: Zbctl, tmp_path: Path) -> None:
    model = tmp_path / "other.bpmn"
    model.write_text((MODELS / "every_call.bpmn").read_text().replace("every-", "zbctl-"))
    deployed = json.loads(zbctl.does(f"zbctl deploy resource {model}"))["deployments"]
    assert [it["process"]["bpmnProcessId"] for it in deployed] == ["zbctl-call", "zbctl-part"]
    instance = _created(zbctl, "zbctl-call", """--version 1 --variables '{"orderId": "z"}'""")
    zbctl.does(f"""zbctl set variables {instance} --variables '{{"size": 7}}'""")
    torn = _job(zbctl, "zbctl-call-pack")
    assert json.loads(torn["variables"]) == {"orderId": "z", "size": 7}
    zbctl.does(f"zbctl update timeout {torn['key']} --timeout 90000")
    zbctl.does(f"zbctl throwError job {torn['key']} --errorCode torn --errorMessage 'in two'")
    assert "code = NotFound" in zbctl.cannot(f"zbctl complete job {torn['key']}")
    zbctl.does("zbctl broadcast signal zbctl-call-bell --variables '{\"rung\": true}'")
    zbctl.does(f"zbctl complete job {_job(zbctl, 'zbctl-call-make')['key']}")
    zbctl.does(f"zbctl cancel instance {instance}")


def test_result_of_an_instance_is_waited_for(zbctl: Zbctl, tmp_path: Path) -> None:
    model = tmp_path / "awaited.bpmn"
    model.write_text((MODELS / "every_call.bpmn").read_text().replace("every-", "awaited-"))
    zbctl.does(f"zbctl deploy resource {model}")
    waiting = zbctl.start("zbctl create instance awaited-part --withResult=made")
    made = _job(zbctl, "awaited-call-make")
    zbctl.does(f"""zbctl complete job {made["key"]} --variables '{{"made": 1, "other": 2}}'""")
    out, err = waiting.communicate(timeout=30)
    assert err == ""
    assert json.loads(json.loads(out)["variables"]) == {"made": 1}


@pytest.mark.parametrize("line", ["delete resource 1", "evaluate decision some-decision"])
def test_commands_that_are_not_here_are_refused_by_name(zbctl: Zbctl, line: str) -> None:
    verb, noun, _ = line.split()
    refusal = zbctl.cannot(f"zbctl {line}")
    assert "code = Unimplemented" in refusal
    assert f"{verb}{noun}".lower() in refusal.lower()


def _created(zbctl: Zbctl, process_id: str, options: str) -> str:
    return str(json.loads(zbctl.does(f"zbctl create instance {process_id} {options}"))["processInstanceKey"])


def _job(zbctl: Zbctl, type_: str) -> dict[str, Any]:
    (job,) = json.loads(zbctl.does(f"zbctl activate jobs {type_} --requestTimeout 10s"))["jobs"]
    return dict(job)
