"""zbctl as a person types it: a line for the shell, in an environment that names the gateway."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.clients.programs_run import CLIENTS, outside
from tests.clients.served import Served


class Ran(NamedTuple):
    out: str
    err: str


class Zbctl:
    def __init__(self, server: Served, folder: Path) -> None:
        (folder / "zbctl").symlink_to(CLIENTS / "npm/node_modules/zbctl/bin/zbctl-cli.linux")
        told = {"ZEEBE_INSECURE_CONNECTION": "true", "ZEEBE_ADDRESS": server.grpc}
        self._environment = outside() | told | {"PATH": f"{folder}:{os.environ['PATH']}"}

    def start(self, line: str) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(["sh", "-c", line], env=self._environment, text=True, **pipes)

    def does(self, line: str) -> str:
        """What it prints, when all goes well."""
        out, err = self._run(line)
        assert err == "", f"{line}: {err}"
        return out

    def cannot(self, line: str) -> str:
        """What it complains about."""
        out, err = self._run(line)
        assert out == "", f"{line}: {out}"
        return err

    def _run(self, line: str) -> Ran:
        return Ran(*self.start(line).communicate(timeout=30))
