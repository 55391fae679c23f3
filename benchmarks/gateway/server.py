"""A server as a process: `conjoin serve`, or one that has everything of it but the work (`python -m ... STORE`).

The empty one reads requests, asks the guard, counts and answers as the other does; its handler answers at once.
"""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from conjoin.gateway.grpc import handlers
from conjoin.gateway.grpc.wire import WIRE
from conjoin.gateway.serving import Addresses, Served, serve
from conjoin.runtime.opening import open_broker

LONGEST_STOP_S = 30
_SERVE = ["-c", "from conjoin.cli.main import main; main()", "serve", "--grpc-port", "0", "--rest-port", "0"]
_EMPTY = ["-m", "benchmarks.gateway.server"]


class Server:
    """Ready when it is made; `ready_s` is how long that took."""

    def __init__(self, store: Path, *, empty: bool = False) -> None:
        began = time.perf_counter()
        what = [*_EMPTY, str(store)] if empty else [*_SERVE, "--data", str(store)]
        self._process = subprocess.Popen([sys.executable, *what], stdout=subprocess.PIPE, text=True)
        told = self._told()
        self.ready_s = time.perf_counter() - began
        found = [re.search(rf"{edge} +(?:http://)?(\S+)", told) for edge in ("gRPC", "REST")]
        assert all(found), told
        self.grpc, self.rest = (it[1] for it in found if it)

    def _told(self) -> str:
        lines = []
        for line in self._process.stdout or ():
            lines.append(line)
            if line.startswith("Next:"):
                break
        return "".join(lines)

    @property
    def memory_mb(self) -> float:
        return resident_mb(self._process.pid)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(LONGEST_STOP_S)
        finally:
            self._process.kill()


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found, status
    return int(found[1]) / 1024


def _serve_nothing(store: str) -> None:
    answer = WIRE["PublishMessageResponse"](key=1)

    async def at_once(*asked: Any) -> Any:
        return answer

    # The server takes it from there when it is made.
    handlers.publish_message = at_once
    broker = open_broker(store)
    try:
        serve(broker, Served(grpc_port=0, rest_port=0), _tell)
    finally:
        broker.close()


def _tell(addresses: Addresses) -> None:
    print(
        f"gRPC {addresses.host}:{addresses.grpc_port}\nREST {addresses.host}:{addresses.rest_port}\nNext:", flush=True
    )


if __name__ == "__main__":
    _serve_nothing(sys.argv[1])
