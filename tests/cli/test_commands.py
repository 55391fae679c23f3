"""Commands are imported when they are called: the server waits for nothing that it does not need."""

import subprocess
import sys

from conjoin.cli.commands import PANELS, Commands

IMPORTED = """
import sys
from conjoin.cli.main import run
run(["--version"])
assert not any(name.startswith("conjoin.runtime") for name in sys.modules), "for a version"
run(["serve", "--help"])
import conjoin.console.app, conjoin.demo.opening, conjoin.gateway.serving
print(*sys.modules)
"""


def test_server_imports_neither_spark_nor_other_commands() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, timeout=60, check=True)
    there = ran.stdout.splitlines()[-1].split()
    assert "conjoin.gateway.serving" in there
    assert {"pyspark", "pandas", "pyarrow", "numpy", "py4j"} & {name.partition(".")[0] for name in there} == set()
    assert {f"conjoin.cli.{name}" for name in ("spark.correlate", "spark.report", "inbox", "lists")} & set(
        there
    ) == set()
    assert not [name for name in there if name.startswith("conjoin.pipeline")]


def test_every_command_is_found_under_its_name_in_its_panel() -> None:
    for panel, places in PANELS.items():
        for name in places:
            command = Commands()[name]
            assert (command.name, command.rich_help_panel, bool(command.help)) == (name, panel, True)
    assert "pulbish" not in Commands()
    assert len(Commands()) == sum(map(len, PANELS.values()))
