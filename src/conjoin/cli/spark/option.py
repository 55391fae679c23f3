"""--master and its like: the Spark that a command runs on, started with a line of progress."""

from typing import Annotated, Any

import typer
from rich.console import Console

from conjoin.cli.progress import progress
from conjoin.errors import ExtraMissing
from conjoin.settings import load

_PANEL = "Spark"


def _option(flag: str, metavar: str, help: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=help, rich_help_panel=_PANEL, show_default=False)


Master = Annotated[str | None, _option("--master", "MASTER", "Spark master. Default: local[*]")]
DriverMemory = Annotated[str | None, _option("--driver-memory", "2g", "Memory of the Spark driver.")]
Jars = Annotated[str | None, _option("--jars", "JAR,...", "Connectors, Kafka's for instance.")]


def check_spark(command: str) -> None:
    """Before anything of the pipeline is imported."""
    try:
        import conjoin.pipeline  # noqa: F401 - only whether it is there
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("conjoin"):
            raise
        raise ExtraMissing(command, "Apache Spark", "spark") from None


def started_spark(command: str, master: str | None, driver_memory: str | None, jars: str | None = None) -> Any:
    """The session."""
    from conjoin.pipeline.session.session import session

    with progress(Console(stderr=True), lambda: None) as step:
        step("starting Spark")
        return session(load(master=master, driver_memory=driver_memory, jars=jars), command)
