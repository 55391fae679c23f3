"""conjoin model scenario: stories for the engine. `run` prints the outcome, `check` compares it with a recording."""

from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from conjoin.errors import ExtraMissing, InputError
from conjoin.runtime.opening import temporary_broker, temporary_postgres_broker
from conjoin.settings import load
from conjoin.testing.scenarios import as_json, differences, play, read_json, read_scenario
from conjoin.testing.scenarios.stages import Make, Stage, in_memory, on_store

FAILED = 1
MOST_LINES = 20

app = typer.Typer(name="scenario", help="Play scenarios: small test stories for models.", no_args_is_help=True)


class ScenarioStore(StrEnum):
    memory = "memory"
    sqlite = "sqlite"
    postgres = "postgres"


class ScenarioRunner(StrEnum):
    inline = "inline"
    spark = "spark"


_Models = Annotated[Path | None, typer.Option(help="Folder of the BPMN files.", show_default="models/ beside the area")]
_Store = Annotated[ScenarioStore, typer.Option(help="Where state is kept.")]
_Runner = Annotated[ScenarioRunner, typer.Option(help="What runs the commands.")]
_Shards = Annotated[int, typer.Option(min=1, help="Shards; with more than one, order between keys is not defined.")]


@app.callback()
def _scenario() -> None:
    """Play scenarios: small test stories for models."""


@app.command()
def run(
    paths: Annotated[list[Path], typer.Argument(help="Scenario files, or folders of them.")],
    models: _Models = None,
    store: _Store = ScenarioStore.memory,
    runner: _Runner = ScenarioRunner.inline,
    shards: _Shards = 1,
) -> None:
    """Print one line of JSON per scenario: its name and its outcome."""
    stage = _stage(store, runner, shards)
    for path in _files(paths):
        scenario = read_scenario(path)
        outcome = play(scenario, models or path.parent.parent / "models", stage)
        typer.echo(as_json({"scenario": scenario.name, "outcome": outcome}))


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(help="Folder with a .json beside each .yaml.")],
    models: _Models = None,
    store: _Store = ScenarioStore.memory,
    runner: _Runner = ScenarioRunner.inline,
    shards: _Shards = 1,
) -> None:
    """Compare outcomes with the recorded ones, and exit with 1 if one differs."""
    stage = _stage(store, runner, shards)
    failed = passed = 0
    for path in _files([folder]):
        scenario, recording = read_scenario(path), path.with_suffix(".json")
        try:
            expected = read_json(recording.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError([f"{recording}: the recorded outcome cannot be read: {error}"]) from error
        outcome = play(scenario, models or path.parent.parent / "models", stage)
        found = differences(expected, outcome, shards)
        failed, passed = failed + bool(found), passed + (not found)
        lines = [f"{scenario.name}: {scenario.title}", *(f"  {line}" for line in found[:MOST_LINES])] if found else []
        lines += [f"  and {len(found) - MOST_LINES} more"] if len(found) > MOST_LINES else []
        for line in lines:
            typer.echo(line)
    typer.echo(f"{passed} passed, {failed} failed")
    if failed:
        raise typer.Exit(FAILED)


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise InputError([f"{path}: there is no such file or folder"])
        found = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        if not found:
            raise InputError([f"{path}: there is no scenario (*.yaml) in it"])
        yield from found


def _stage(store: ScenarioStore, runner: ScenarioRunner, shards: int) -> Stage:
    """Each story has an engine of its own there, which is gone afterwards."""
    if store is ScenarioStore.memory:
        if runner is ScenarioRunner.spark:
            raise InputError(["--runner spark: its tasks need a store that they can reach; use --store sqlite"])
        return in_memory(shards)
    if store is ScenarioStore.sqlite:
        make: Make = partial(temporary_broker, shards)
    else:
        server = load().store or ""
        if not server.startswith(("postgres://", "postgresql://")):
            raise InputError(["--store postgres: say which server with CONJOIN_STORE=postgresql://user@host/database"])
        make = partial(temporary_postgres_broker, server, shards)
    if runner is ScenarioRunner.inline:
        return on_store(make)
    try:
        from conjoin.pipeline.session.session import session
        from conjoin.pipeline.spark_runner import carried_by_spark
    except ImportError as error:
        raise ExtraMissing("--runner spark", "PySpark", "spark") from error
    return on_store(make, partial(carried_by_spark, spark=session(load(), "conjoin model scenario")))
