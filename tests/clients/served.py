"""`conjoin serve` as a process on a throw-away store. Whatever it complains about fails the tests at its end."""

import re
import signal
import subprocess
import sys
from pathlib import Path

LONGEST_STOP_S = 30


class Served:
    """Ready when it is made; it tells its ports itself."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store"
        self._complaints = folder / "complaints"
        command = [sys.executable, "-c", "from conjoin.cli.main import main; main()", "serve"]
        where = ["--data", str(self.store), "--grpc-port", "0", "--rest-port", "0"]
        with self._complaints.open("w") as complaints:
            self._process = subprocess.Popen([*command, *where], stdout=subprocess.PIPE, stderr=complaints, text=True)
        told = self._told()
        self.grpc, self.rest = (self._address(name, told) for name in ("gRPC", "REST"))

    def _told(self) -> str:
        lines = []
        for line in self._process.stdout or ():
            lines.append(line)
            if line.startswith("Next:"):
                break
        return "".join(lines)

    def _address(self, name: str, told: str) -> str:
        found = re.search(rf"{name} +(\S+)", told)
        assert found is not None, told + self._complaints.read_text()
        return found[1]

    def stop(self) -> str:
        """What it complained about, from the start to a stop in good order."""
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(LONGEST_STOP_S)
        finally:
            self._process.kill()
        return self._complaints.read_text() + (f"exit code {code}" if code else "")
