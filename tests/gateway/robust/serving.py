"""`conjoin serve` as a process on a data directory: it can be killed, measured, and asked what it complained about."""

import os
import re
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[3]
COMMAND = ("-c", "from conjoin.cli.main import main; main()")
LONGEST_STOP_S = 40


class ServingProcess:
    """Ready when it is made; it tells its ports itself. Complaints of one after the other go to one file."""

    def __init__(
        self, store: Path, command: tuple[str, ...] = COMMAND, files: int | None = None, url: str | None = None
    ) -> None:
        """`files`: how many it may have open; `url`: of a database instead of the directory, which is then only beside
        its complaints.
        """
        self._complaints = store.with_name("complaints")
        limit = None if files is None else partial(resource.setrlimit, resource.RLIMIT_NOFILE, (files, files))
        where = (*(("--store", url) if url else ("--data", str(store))), "--grpc-port", "0", "--rest-port", "0")
        with self._complaints.open("a") as complaints:
            self._process = subprocess.Popen(
                [sys.executable, *command, "serve", *where],
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                cwd=store.parent,
                preexec_fn=limit,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        told = self._told()
        self.grpc = self._found(r"gRPC +(\S+)", told)
        self.rest = self._found(r"REST +(https?://\S+)", told)
        self.host, port = self.rest.partition("://")[2].rsplit(":", 1)
        self.rest_port, self.grpc_port = int(port), int(self.grpc.rsplit(":", 1)[1])

    def _told(self) -> str:
        lines = []
        for line in self._process.stdout or ():
            lines.append(line)
            if line.startswith("Next:"):
                break
        return "".join(lines)

    def _found(self, pattern: str, told: str) -> str:
        found = re.search(pattern, told)
        assert found is not None, told + self.complaints
        return found[1]

    @property
    def complaints(self) -> str:
        return self._complaints.read_text(errors="replace")

    @property
    def memory_mb(self) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(self._found(r"VmRSS:\s+(\d+) kB", status)) // 1_024

    @property
    def peak_mb(self) -> int:
        """The most memory that it ever had."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(self._found(r"VmHWM:\s+(\d+) kB", status)) // 1_024

    @property
    def cpu_s(self) -> float:
        """The processor time that it has used so far: a machine that others use hardly changes it."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """As `kill -9` does; also one that is gone already."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """In good order; answers with the exit code."""
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(LONGEST_STOP_S)
        finally:
            self.kill()
