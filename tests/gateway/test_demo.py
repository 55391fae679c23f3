"""conjoin serve --demo as a process: it tells what to try, lives, and shows every verdict that there is."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from conjoin.kernel.verdicts.verdicts import REASONS
from tests.cli.command import Command
from tests.clients.programs_run import CLIENTS

ZBCTL = CLIENTS / "npm/node_modules/zbctl/bin/zbctl-cli.linux"
NOT_LISTED = {
    ("buffered", "busy"): "lasts for as long as two shards talk to each other: milliseconds",
    ("buffered", "taken_by_process"): "stands beside a verdict; explain tells it, see below",
    ("refused", "invalid"): "turned away before it is a message; a dry run tells it",
    ("refused", "forbidden"): "turned away before it is a message",
    ("refused", "wrong_tenant"): "turned away before it is a message",
}
"""What no list can show, and why."""
PATIENCE_S = 120


class Demo:
    """Ready when it is made; `told` is all that it said."""

    def __init__(self) -> None:
        start = [sys.executable, "-c", "from conjoin.cli.main import main; main()", "serve", "--demo"]
        ports = ["--grpc-port", "0", "--rest-port", "0"]
        self._it = subprocess.Popen([*start, *ports], stdout=subprocess.PIPE, text=True)
        assert self._it.stdout is not None
        self.told: list[str] = []
        while not self.told or "messages?key=" not in self.told[-1]:
            line = self._it.stdout.readline()
            assert line, self.told
            self.told.append(line.rstrip())
        [rest] = [line.split()[1] for line in self.told if line.startswith("  REST")]
        self.client = httpx.Client(base_url=rest, timeout=30)

    @property
    def folder(self) -> Path:
        return Path(self.told[0].split()[1])

    def items(self, path: str, **params: Any) -> Iterator[dict[str, Any]]:
        cursor: str | None = ""
        while cursor is not None:
            page = self.client.get(path, params={**params, "limit": 500, "cursor": cursor or None}).json()
            yield from page["items"]
            cursor = page.get("cursor")

    def found(self, what: str) -> list[dict[str, Any]]:
        return list(self.client.post(f"/v2/{what}/search", json={}).json()["items"])

    def stop(self) -> int:
        self._it.send_signal(signal.SIGTERM)
        return self._it.wait(timeout=30)

    def kill(self) -> None:
        self._it.kill()
        self._it.wait()


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    running = Demo()
    try:
        yield running
        folder = running.folder
        assert folder.is_dir()
        assert running.stop() == 0
        assert not folder.exists()
    finally:
        running.kill()


def until(is_so: Callable[[], Any]) -> Any:
    """The demo fills itself; nothing tells a client when it has."""
    end = time.monotonic() + PATIENCE_S
    while not (found := is_so()):
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.1)
    return found


def verdicts(demo: Demo) -> set[tuple[str, str]]:
    """Of messages, of those in the inbox, and of each attempt with one of these."""
    listed = [*demo.items("/conjoin/v1/messages"), *(inbox := list(demo.items("/conjoin/v1/inbox")))]
    tried = (demo.client.get(f"/conjoin/v1/inbox/messages/{it['key']}").json()["history"] for it in inbox)
    listed += [line for history in tried for line in history if line["verdict"]]
    return {(it["verdict"], it["reason"]) for it in listed}


def test_every_verdict_and_reason_can_be_seen(demo: Demo) -> None:
    everything = {(verdict, reason) for verdict, reasons in REASONS.items() for reason in reasons}
    assert NOT_LISTED.keys() <= everything
    until(lambda: verdicts(demo) >= everything - NOT_LISTED.keys())
    assert not [it for it in verdicts(demo) & NOT_LISTED.keys() if it[0] == "refused"]


def test_process_that_has_a_message_already_is_told_by_explain(demo: Demo) -> None:
    [taken] = until(lambda: list(demo.items("/conjoin/v1/messages", name="Parcel arrived", key="order-0964")))
    until(lambda: "taken_by_process" in demo.client.get(f"/conjoin/v1/messages/{taken['key']}/explain").text)


def test_there_is_something_of_everything_and_it_lives(demo: Demo) -> None:
    states = {"waiting", "parked", "paused", "done", "deleted"}
    until(lambda: states <= {it["state"] for it in demo.items("/conjoin/v1/inbox")})
    assert {it["errorType"] for it in until(lambda: demo.found("incidents"))} == {
        "JOB_NO_RETRIES",
        "EXTRACT_VALUE_ERROR",
    }
    assert demo.found("user-tasks")
    assert demo.found("jobs")
    before = len(list(demo.items("/conjoin/v1/messages", verdict="correlated")))
    until(lambda: len(list(demo.items("/conjoin/v1/messages", verdict="correlated"))) > before)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_lines_that_it_tells_run_as_they_are(demo: Demo, tmp_path: Path) -> None:
    until(lambda: list(demo.items("/conjoin/v1/messages", name="Money colected")))
    explain, pay, look = (line for line in demo.told if line.startswith(("  curl", "  zbctl")))
    (tmp_path / "zbctl").symlink_to(ZBCTL)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def does(line: str) -> Any:
        ran = subprocess.run(
            ["sh", "-c", line], env=environment, capture_output=True, text=True, timeout=30, check=True
        )
        return json.loads(ran.stdout)

    [page] = [line.split()[1] for line in demo.told if line.startswith("  open") and len(line.split()) == 2]
    assert httpx.get(page).status_code == 200
    assert "the name differs in case or blanks only" in json.dumps(does(explain))
    if not ZBCTL.exists():
        pytest.skip("zbctl is not there: scripts/setup-clients fetches it")
    assert int(does(pay)["key"]) > 0
    ordered, paid = does(look)["items"]
    assert (ordered["reason"], paid["reason"]) == ("started_instance", "waiting_instance")


def test_data_directory_that_is_not_empty_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    said = Command(capsys).cannot(f"serve --demo --data {tmp_path}")
    assert f"--data {tmp_path}: the demo would mix with what is there" in said
    assert [it.name for it in tmp_path.iterdir()] == ["mine.txt"]
    assert "leave --store away" in Command(capsys).cannot("serve --demo --store postgresql://localhost/orders")
