"""The programs with the official clients: how each is started and what points it at a gateway.

Every program is a process of its own, in the language of its client; `scripts/setup-clients` has fetched the clients.
"""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.clients.served import Served

PROGRAMS = Path(__file__).parent / "programs"
MODELS = Path(__file__).parent / "models"
CLIENTS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "conjoin" / "clients"
LONGEST_S = 120


class Program(NamedTuple):
    kind: str
    """The folder of the clients that must be there: npm, python or java."""
    file: str
    settings: tuple[str, ...] = ()
    """Variables of its environment; {grpc} and {rest} are where the gateway is."""

    @property
    def command(self) -> list[str]:
        file = str(PROGRAMS / self.file)
        if file.endswith(".mjs"):
            return ["node", file]
        if file.endswith(".java"):
            # It runs for seconds: compiling it well is not worth the time.
            return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{CLIENTS}/java/*", file]
        return [str(CLIENTS / "python" / "bin" / "python"), file]

    @property
    def is_fetched(self) -> bool:
        return (CLIENTS / self.kind / "fetched").exists()


_NO_LOGIN = "CAMUNDA_AUTH_STRATEGY=NONE"
_ZBCTL = ("ZEEBE_INSECURE_CONNECTION=true", "ZEEBE_ADDRESS={grpc}")
_SDK = (_NO_LOGIN, "ZEEBE_GRPC_ADDRESS=grpc://{grpc}", "ZEEBE_REST_ADDRESS={rest}", "CAMUNDA_LOG_LEVEL=error")
_STRICT = (_NO_LOGIN, "CAMUNDA_REST_ADDRESS={rest}", "CAMUNDA_SDK_VALIDATION=req:strict,res:strict")
STORIES = {
    "zbctl": Program("npm", "with_zbctl.py", _ZBCTL),
    "pyzeebe": Program("python", "with_pyzeebe.py"),
    "orchestration-sdk": Program("python", "with_orchestration_sdk.py", (_NO_LOGIN, "CAMUNDA_REST_ADDRESS={rest}")),
    "sdk-grpc": Program("npm", "sdk_grpc.mjs", _SDK),
    "sdk-rest": Program("npm", "sdk_rest.mjs", _SDK),
    "orchestration-cluster-api": Program("npm", "orchestration_cluster_api.mjs", _STRICT),
    "java": Program("java", "OrderToCash.java"),
}
EVERY_CALL = Program("npm", "every_call.mjs", _STRICT)


def outside() -> dict[str, str]:
    """Our own environment, without what it says to such clients."""
    return {name: it for name, it in os.environ.items() if not name.startswith(("CAMUNDA_", "ZEEBE_"))}


def run(program: Program, server: Served, client: str, model: Path) -> str:
    """The last line that it prints; a program that fails says what it has seen."""
    told = {"CLIENT": client, "MODEL": str(model), "CLIENTS": str(CLIENTS)}
    told |= {"GRPC_ADDRESS": server.grpc, "REST_ADDRESS": server.rest}
    settings = (setting.format(grpc=server.grpc, rest=server.rest).split("=", 1) for setting in program.settings)
    environment = outside() | told | dict(settings)
    ran = subprocess.run(
        program.command, env=environment, capture_output=True, text=True, timeout=LONGEST_S, cwd=model.parent
    )
    assert ran.returncode == 0, f"{program.file}:\n{ran.stdout[-4_000:]}\n{ran.stderr[-8_000:]}"
    return ran.stdout.splitlines()[-1]
