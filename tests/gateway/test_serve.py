"""conjoin serve as a process: it starts with one command, keeps what it acknowledged, and stops in good order."""

import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from conjoin.runtime.opening import open_broker
from conjoin.runtime.reading.lists import ListQuery, list_page
from tests.cli.command import Command
from tests.gateway.grpc_client import Client
from tests.gateway.models import with_job

HOSTS = ("0.0.0.0", "::", "192.0.2.1", "example.org")


class Process:
    """Ready when it is made; it tells its ports itself."""

    def __init__(self, folder: Path) -> None:
        start = ("-c", "from conjoin.cli.main import main; main()", "serve", "--data", str(folder))
        line = [sys.executable, *start, "--grpc-port", "0", "--rest-port", "0"]
        self._it = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        self.told: list[str] = []
        for line in self._it.stdout or ():
            self.told.append(line)
            if line.startswith("Next:"):
                break
        found = re.search(r"gRPC +(\S+)", "".join(self.told))
        assert found is not None, self.told
        self.grpc = found[1]

    def end(self, number: signal.Signals) -> int:
        self._it.send_signal(number)
        return self._it.wait(timeout=30)

    def kill(self) -> None:
        self._it.kill()
        self._it.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_an_open_stream_ends_with_a_stop_and_what_was_answered_is_there(folder: Path) -> None:
    process = Process(folder)
    try:
        client = Client(process.grpc)
        client.deploy(with_job("after"))
        instance = client.start("o", "after")
        published = client.publish("k-1", "m", messageId="m-1")
        stream = client.StreamActivatedJobs(type="after", worker="w", timeout=60_000)
        assert next(stream).processInstanceKey == instance
        assert process.end(signal.SIGTERM) == 0
        assert list(stream) == []
    finally:
        process.kill()
    with closing(open_broker(folder)) as broker:
        assert [item.key for item in list_page(broker, "messages", ListQuery(limit=10)).items] == [published]


@pytest.mark.parametrize("host", HOSTS)
def test_address_that_others_can_reach_needs_a_word(
    host: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = Command(capsys).cannot(f"serve --host {host} --data {folder}")
    assert "--insecure" in said
    assert not folder.exists()


def test_port_that_is_taken_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for ports in (f"--grpc-port {port} --rest-port 0", f"--grpc-port 0 --rest-port {port}"):
            said = Command(capsys)(f"serve --data {folder} {ports}")
            assert (said.code, f"127.0.0.1:{port} cannot be listened on" in said.err) == (2, True)
