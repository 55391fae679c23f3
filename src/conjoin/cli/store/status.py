"""conjoin store status: what a store is, how far its shards have come, and how much is open."""

from collections.abc import Sequence
from typing import Any

from conjoin.cli.printing import AsJson, tell
from conjoin.cli.store.policy import policy_line
from conjoin.cli.store_option import Data, StoreUrl, address_of, opened_broker, shown
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.store_counts import ShardFigures, figures
from conjoin.times.iso8601 import instant_text

_PROGRESS = ("shard", "version", "counter", "time", "logged", "undelivered")
_OPEN = ("shard", "instances", "subscriptions", "buffered", "jobs", "timers", "incidents")


def status(data: Data = None, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Show what a store is and how much is open on each of its shards.

    [bold]Examples[/bold]

      conjoin store status

      conjoin store status --json
    """
    with opened_broker(data, store) as broker:
        told = {"store": shown(address_of(data, store)), **_as_object(broker)}
    tell(told, _in_words(told), as_json)


def _as_object(broker: Broker) -> dict[str, Any]:
    shards = [_shard(its) for its in figures(broker.store)]
    definitions = broker.catalog.view().definitions
    return {
        "profile": broker.store.facts.profile,
        "unique_business_ids": broker.store.facts.unique_business_ids,
        "catalog_version": broker.catalog.view().version,
        "processes": {latest.process_id: latest.version for latest in definitions.all_latest()},
        "policies": broker.catalog.in_force(),
        "not_in_force": broker.catalog.troubles(),
        "shards": shards,
        "open": {name: sum(shard[name] for shard in shards) for name in _OPEN[1:]},
    }


def _shard(its: ShardFigures) -> dict[str, Any]:
    return its._asdict() | {"time": instant_text(its.time) if its.time else None}


def _in_words(told: dict[str, Any]) -> str:
    processes = ", ".join(f"{name} version {version}" for name, version in told["processes"].items())
    ids = ", unique business ids" if told["unique_business_ids"] else ""
    lines = [
        f"{told['store']}: profile {told['profile']}{ids}",
        f"catalog version {told['catalog_version']}: {processes or 'nothing is deployed'}",
    ]
    lines += [policy_line(name, answers) for name, answers in told["policies"].items()]
    lines += told["not_in_force"]
    shards = told["shards"]
    total = [_cells({"shard": "all", **told["open"]}, _OPEN)] if len(shards) > 1 else []
    lines += ["", *_aligned([_PROGRESS, *(_cells(shard, _PROGRESS) for shard in shards)])]
    lines += ["", *_aligned([_OPEN, *(_cells(shard, _OPEN) for shard in shards), *total])]
    return "\n".join(lines)


def _cells(shard: dict[str, Any], names: Sequence[str]) -> list[str]:
    values = [shard[name] for name in names]
    return [f"{value:,}" if isinstance(value, int) else value or "never" for value in values]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
