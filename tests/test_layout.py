"""Who imports whom: the packages keep to the order in which data flows, and only pipeline/ knows Spark."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import conjoin

ROOT = Path(conjoin.__file__).parent

# What a package may import of ours beside itself; a package that is not listed here fails the test.
MAY_IMPORT: dict[str, set[str]] = {
    "compiled": set(),
    "times": set(),
    "errors": set(),
    "fault_points": set(),
    "logs": set(),
    "kernel": set(),
    "feel": set(),
    "plain_yaml": set(),
    "markup": set(),
    "plots": {"markup"},
    "shown_urls": set(),
    "spark_daemon": set(),
    "settings": {"errors", "plain_yaml", "shown_urls"},
    "setting_tables": {"errors", "shown_urls"},
    "client": {"errors"},
    "bpmn": {"errors", "kernel", "feel"},
    "store": {"errors", "fault_points", "kernel", "shown_urls"},
    "runtime": {"errors", "fault_points", "kernel", "feel", "store", "bpmn", "setting_tables", "shown_urls"},
    "pipeline": {
        *("errors", "fault_points", "markup", "plain_yaml", "plots", "settings", "setting_tables", "kernel", "runtime"),
        "shown_urls",
    },
    "gateway": {"errors", "logs", "setting_tables", "runtime", "shown_urls"},
    "testing": {"errors", "kernel", "plain_yaml", "runtime", "store"},
    "console": {"errors", "markup", "plots", "settings", "gateway"},
    "demo": {"errors", "runtime", "gateway"},
    "cli": {
        *("errors", "logs", "settings", "kernel", "feel", "bpmn", "store", "runtime", "pipeline"),
        *("gateway", "console", "demo", "testing", "shown_urls", "client"),
    },
}

# Whoever serves both edges imports neither; a package imports nothing of its own edge.
EDGES = ("conjoin.gateway.rest", "conjoin.gateway.grpc")
BEHIND_THE_EDGES = (
    *("conjoin.gateway.dispatch", "conjoin.gateway.http", "conjoin.gateway.jobs", "conjoin.gateway.queries"),
    *("conjoin.gateway.search", "conjoin.gateway.security", "conjoin.gateway.service", "conjoin.console"),
)
# Values and texts without rules: everybody may import these.
FOR_ALL = {"times"}
VALUES = ("conjoin.kernel.keys", "conjoin.kernel.instants", "conjoin.kernel.storable", "conjoin.store.reading")
KNOWS_SPARK = {"pipeline"}
# Standard library only. What reads a clock, chance or the world would make two replays differ.
PURE = {"kernel", "feel", "times"}
IMPURE_MODULES = {"asyncio", "datetime", "logging", "os", "random", "threading", "time", "uuid"}


def imported_names(source: str, module: str, is_package: bool) -> Iterator[str]:
    """Every module named by an import anywhere in the text, those inside functions too, as absolute names."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, node.module] if node.module else above)
            # `from conjoin import kernel` names the package in its second half.
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """What a module imports against the rules, as sentences."""
    part = module.split(".")[1] if "." in module else ""
    found = []
    for name in imported_names(source, module, is_package):
        is_value = part not in PURE and any(_is_in(name, value) for value in VALUES)
        broken = None if is_value else _broken_rule(part, *name.split(".")) or _imported_edge(module, name)
        if broken:
            found.append(f"{module} imports {name}: {broken}")
    return found


def _broken_rule(part: str, top: str, *rest: str) -> str | None:
    if top == "conjoin":
        return _broken_rule_among_ours(part, rest[0] if rest else "")
    if top == "pyspark" and part not in KNOWS_SPARK:
        return "only pipeline may know Spark"
    if part in PURE:
        if top not in sys.stdlib_module_names:
            return f"{part} is standard library only"
        if top in IMPURE_MODULES:
            return f"{part} is pure"
    return None


def _imported_edge(module: str, name: str) -> str | None:
    is_behind = any(_is_in(module, package) for package in BEHIND_THE_EDGES)
    edge = next((edge for edge in EDGES if _is_in(name, edge)), None)
    return f"{module} may not know {edge}" if is_behind and edge else None


def _is_in(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def _broken_rule_among_ours(part: str, other: str) -> str | None:
    if other not in MAY_IMPORT:
        # A name of conjoin/__init__.py, such as __version__; pure packages have no business there.
        return f"{part} imports nothing of ours" if part in PURE else None
    if part == "":
        # The package itself may offer any part's names (that it imports without Spark is the wheel's test).
        return "nobody imports cli" if other == "cli" else None
    if other != part and other not in MAY_IMPORT[part] | FOR_ALL:
        return f"{part} may not import {other}"
    return None


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


@pytest.mark.parametrize(("module", "path"), modules(), ids=[module for module, _ in modules()])
def test_module_imports_only_what_its_package_may(module: str, path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert violations(source, module, path.name == "__init__.py") == []


def test_every_package_has_its_rule() -> None:
    parts = {module.split(".")[1] for module, _ in modules() if "." in module}
    assert parts <= set(MAY_IMPORT)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("conjoin.kernel.state", "import time"),
        ("conjoin.kernel.state", "from datetime import datetime"),
        ("conjoin.kernel.state", "import os.path"),
        ("conjoin.kernel.state", "import msgspec"),
        ("conjoin.kernel.state", "from conjoin import __version__"),
        ("conjoin.kernel.state", "from conjoin.errors import ConjoinError"),
        ("conjoin.kernel.state", "from ..pipeline import correlate"),
        ("conjoin.times.calendar", "from conjoin.kernel.instants import NEVER"),
        ("conjoin.kernel.state", "def late():\n    import random"),
        ("conjoin.kernel.state", "if TYPE_CHECKING:\n    from conjoin.store.port import Store"),
        ("conjoin.runtime.run.run", "from conjoin.pipeline import correlate"),
        ("conjoin.runtime.run.run", "import pyspark.sql"),
        ("conjoin.cli.spark.correlate", "from pyspark.sql import SparkSession"),
        ("conjoin.pipeline.correlate.correlate", "from conjoin.cli import main"),
        ("conjoin.pipeline.correlate.correlate", "from conjoin import cli"),
        ("conjoin.gateway.rest", "import conjoin.kernel.state"),
        ("conjoin.gateway.queries.store", "from conjoin.gateway.rest.endpoint import answer"),
        ("conjoin.gateway.dispatch", "from conjoin.gateway import grpc"),
        ("conjoin.settings", "from . import kernel"),
        ("conjoin", "from .cli.main import main"),
        ("conjoin", "import pyspark"),
    ],
)
def test_checker_finds_an_import_against_the_rules(module: str, source: str) -> None:
    assert len(violations(source, module, is_package=module == "conjoin")) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("conjoin.kernel.state", "import dataclasses\nfrom collections.abc import Mapping"),
        ("conjoin.kernel.state", "from conjoin.kernel.events import MessagePublished"),
        ("conjoin.kernel.state", "from conjoin.times.calendar import DAY_US"),
        ("conjoin.kernel.correlation.decide", "from ..state import State\nfrom . import apply"),
        (
            "conjoin.pipeline.correlate.correlate",
            "import pyspark.sql.functions as F\nfrom conjoin.kernel import decide",
        ),
        ("conjoin.pipeline.correlate.correlate", "import time"),
        ("conjoin.cli.main", "from conjoin import __version__\nfrom conjoin.pipeline import correlate"),
        ("conjoin.gateway.rest.app", "from conjoin.gateway.queries import store"),
        ("conjoin.settings", "from conjoin.errors import SettingsError"),
    ],
)
def test_checker_lets_pass_what_the_rules_allow(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_relative_imports_in_a_package_file_are_counted_from_the_package_itself() -> None:
    assert violations("from .state import State", "conjoin.kernel", is_package=True) == []
    assert violations("from ..store import port", "conjoin.kernel.correlation", is_package=True) == []
    assert len(violations("from ...store import port", "conjoin.kernel.correlation", is_package=True)) == 1
