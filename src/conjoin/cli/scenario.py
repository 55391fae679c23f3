"""conjoin scenario: stories told to the engine. `run` prints what became of them, `check` compares with a recording."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from conjoin.errors import InputError
from conjoin.testing.scenarios import Scenario, as_json, differences, play, read_json, read_scenario

FAILED = 1
MOST_LINES = 20

app = typer.Typer(name="scenario", help="Plays scenarios: small stories told to the engine.", no_args_is_help=True)


class Store(StrEnum):
    memory = "memory"
    sqlite = "sqlite"
    postgres = "postgres"


class Runner(StrEnum):
    inline = "inline"
    spark = "spark"


_Models = Annotated[Path | None, typer.Option(help="Folder of the BPMN files.", show_default="models/ beside the area")]
_Store = Annotated[Store, typer.Option(help="Where state is kept.")]
_Runner = Annotated[Runner, typer.Option(help="What carries out the commands.")]
_Shards = Annotated[int, typer.Option(min=1, help="Shards; with more than one, order between keys is not defined.")]


@app.callback()
def _scenario() -> None:
    """Plays scenarios: small stories told to the engine."""


@app.command()
def run(
    paths: Annotated[list[Path], typer.Argument(help="Scenario files, or folders of them.")],
    models: _Models = None,
    store: _Store = Store.memory,
    runner: _Runner = Runner.inline,
    shards: _Shards = 1,
) -> None:
    """Print one line of JSON a scenario: its name and its outcome."""
    _refuse_what_is_missing(store, runner)
    for path in _files(paths):
        scenario = read_scenario(path)
        outcome = play(scenario, models or _models_beside(path), shards)
        typer.echo(as_json({"scenario": scenario.name, "outcome": outcome}))


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(help="Folder with a .json beside each .yaml.")],
    models: _Models = None,
    store: _Store = Store.memory,
    runner: _Runner = Runner.inline,
    shards: _Shards = 1,
) -> None:
    """Compare outcomes with the recorded ones, and leave with 1 if one is not the same."""
    _refuse_what_is_missing(store, runner)
    failed = passed = 0
    for path in _files([folder]):
        scenario = read_scenario(path)
        found = list(_compare(path, scenario, models or _models_beside(path), shards))
        failed, passed = (failed + 1, passed) if found else (failed, passed + 1)
        for line in found:
            typer.echo(line)
    typer.echo(f"{passed} passed, {failed} failed")
    if failed:
        raise typer.Exit(FAILED)


def _compare(path: Path, scenario: Scenario, models: Path, shards: int) -> Iterator[str]:
    recording = path.with_suffix(".json")
    try:
        expected = read_json(recording.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError([f"{recording}: the recorded outcome cannot be read: {error}"]) from error
    found = differences(expected, play(scenario, models, shards), shards)
    if found:
        yield f"{scenario.name}: {scenario.title}"
        yield from (f"  {line}" for line in found[:MOST_LINES])
        if len(found) > MOST_LINES:
            yield f"  and {len(found) - MOST_LINES} more"


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise InputError([f"{path}: there is no such file or folder"])
        found = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        if not found:
            raise InputError([f"{path}: there is no scenario (*.yaml) in it"])
        yield from found


def _models_beside(path: Path) -> Path:
    return path.parent.parent / "models"


def _refuse_what_is_missing(store: Store, runner: Runner) -> None:
    missing = []
    if store is not Store.memory:
        missing.append(f"--store {store}: this version keeps state in memory only; use --store memory")
    if runner is not Runner.inline:
        missing.append(f"--runner {runner}: this version plays scenarios inline only; use --runner inline")
    if missing:
        raise InputError(missing)
