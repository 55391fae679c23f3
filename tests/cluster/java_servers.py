"""Servers that run on Java, on the loopback address: started for some tests, ended with them, however these end."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

START_S = 90
LITTLE_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For runs that are over before a second compiler could make them faster."""

_GUARDED = 'log=$1; shift; "$@" >"$log" 2>&1 & read -r _; kill -9 0'
"""Run by a shell whose input closes when the process of the tests is gone: the whole group ends with it."""


class JavaServer:
    """A process with its children, which are a group of their own."""

    def __init__(self, command: Sequence[str | Path], log: Path, environment: dict[str, str]) -> None:
        self._log = log
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARDED, "sh", str(log), *map(str, command)],
            env=environment,
            cwd=log.parent,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def await_port(self, port: int) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError(f"nobody answers on port {port}:\n{self.said()}")

    def said(self) -> str:
        return self._log.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        """As `kill -9` does, with its children."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
