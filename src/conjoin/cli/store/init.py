"""conjoin store init and status: a new store, and what a store is, how far its shards are, and how much is open."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from conjoin.cli.invocation import STORE, CommandCall, command, on_engine
from conjoin.cli.options import option
from conjoin.cli.printing import JsonObject, shown
from conjoin.errors import PolicyError
from conjoin.kernel.policies import read_policies
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import create_broker
from conjoin.settings import Settings

FEWEST_SHARDS, MOST_SHARDS = 2, 1_024
_PROGRESS = ("shard", "version", "counter", "time", "logged", "undelivered")
_OPEN = ("shard", "instances", "subscriptions", "buffered", "jobs", "timers", "incidents")


def create(settings: Settings, address: str | Path, shards: int | None, unique_business_ids: bool = False) -> Broker:
    """A new store with the profile and the policies of the settings; by default with a shard for each core."""
    problems = read_policies(settings.profile, settings.policies)[1]
    if problems:
        raise PolicyError(problems)
    count = shards or max(os.cpu_count() or 1, FEWEST_SHARDS)
    broker = create_broker(address, count, profile=settings.profile, unique_business_ids=unique_business_ids)
    for name, answers in settings.policies.items():
        broker.catalog.set_policy(name, answers, broker.now)
    return broker


@command(
    STORE | {"profile": None},
    "conjoin store init",
    "conjoin store init --data /var/lib/orders --shards 4",
    "conjoin store init --store postgresql://conjoin@db/orders",
    "conjoin store init --shards 1 --unique-business-ids",
)
def init(
    call: CommandCall,
    shards: Annotated[
        int | None, option("--shards", "Default: as many as there are cores, at least 2.", min=1, max=MOST_SHARDS)
    ] = None,
    unique_business_ids: Annotated[
        bool,
        typer.Option(
            "--unique-business-ids",
            help="One running instance of a process for each business id. Only with --shards 1.",
        ),
    ] = False,
) -> None:
    """Create a new, empty store.

    A [bold]shard[/bold] is what one core works on at a time. Policies of
    conjoin.toml become those of the store; conjoin store policy set changes them.
    """
    address = call.address
    broker = create(call.settings, address, shards, unique_business_ids)
    count, profile = broker.shard_count, call.settings.profile
    broker.close()
    # The flags that find the store again, if it needs any.
    flags = f" --data {call.data}" if call.data is not None else " --store URL" if call.store is not None else ""
    ids = ", unique business ids" if unique_business_ids else ""
    made = f"made a store in {shown(address)}: {count} shard{'' if count == 1 else 's'}, profile {profile}{ids}"
    about = {"store": shown(address), "shards": count, "profile": profile, "unique_business_ids": unique_business_ids}
    call.print(about, f"{made}\nNext: conjoin model deploy order.bpmn{flags}")


@on_engine("conjoin store status", "conjoin store status --json")
def status(call: CommandCall) -> None:
    """Show what a store is and how much is open on each of its shards.

    Through a server, how much is open is counted for all shards together, and up to a limit.
    """
    found = {"store": call.where, **call.do(lambda engine: engine.status())}
    processes = ", ".join(f"{name} version {version}" for name, version in found["processes"].items())
    ids = ", unique business ids" if found["unique_business_ids"] else ""
    lines = [
        f"{found['store']}: profile {found['profile']}{ids}",
        f"catalog version {found['catalog_version']}: {processes or 'nothing is deployed'}",
        *(policy_line(name, answers) for name, answers in found["policies"].items()),
        *found["not_in_force"],
    ]
    shards = found["shards"]
    counted = [shard for shard in shards if _OPEN[1] in shard]
    total = [{"shard": "all", **found["open"]}] if len(counted) != 1 else []
    lines += ["", *_aligned(_PROGRESS, shards), "", *_aligned(_OPEN, [*counted, *total])]
    call.print(found, "\n".join(lines))


def policy_line(name: str, answers: JsonObject) -> str:
    listed = ", ".join(f"{question}={answer}" for question, answer in answers.items())
    return f"policy {name}: {listed or 'as the profile says'}"


def _aligned(names: Sequence[str], shards: Sequence[JsonObject]) -> list[str]:
    rows = [names, *([_cell(name, shard[name]) for name in names] for shard in shards)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "never" if name == "time" else "-"
    return f"{value:,}" if isinstance(value, int) else str(value)
