"""conjoin store init: makes a new, empty store."""

import os
from typing import Annotated

import typer

from conjoin.cli.printing import AsJson, tell
from conjoin.cli.store_option import Data, StoreUrl, address_of, shown
from conjoin.errors import PolicyError
from conjoin.kernel.policies import read_policies
from conjoin.runtime.opening import create_broker
from conjoin.settings import load

FEWEST_SHARDS, MOST_SHARDS = 2, 1_024

Shards = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_SHARDS, help="Default: as many as there are cores, at least 2.", show_default=False),
]
Profile = Annotated[
    str | None,
    typer.Option(
        metavar="zeebe|zeebe-0.2x|correlate|fleans",
        help="Which engine's rules apply. Default: zeebe",
        show_default=False,
    ),
]

UniqueBusinessIds = Annotated[
    bool,
    typer.Option(
        "--unique-business-ids",
        help="One running instance of a process for each business id. Only with --shards 1.",
    ),
]


def init(
    data: Data = None,
    store: StoreUrl = None,
    shards: Shards = None,
    profile: Profile = None,
    unique_business_ids: UniqueBusinessIds = False,
    as_json: AsJson = False,
) -> None:
    """Create a new, empty store.

    A [bold]shard[/bold] is what one core works on at a time. Policies of
    conjoin.toml become those of the store; conjoin store policy set changes them.

    [bold]Examples[/bold]

      conjoin store init

      conjoin store init --data /var/lib/orders --shards 4

      conjoin store init --store postgresql://conjoin@db/orders

      conjoin store init --shards 1 --unique-business-ids
    """
    settings = load(profile=profile)
    problems = read_policies(settings.profile, settings.policies)[1]
    if problems:
        raise PolicyError(problems)
    address = address_of(data, store)
    count = shards or max(os.cpu_count() or 1, FEWEST_SHARDS)
    broker = create_broker(address, count, profile=settings.profile, unique_business_ids=unique_business_ids)
    for name, answers in settings.policies.items():
        broker.catalog.set_policy(name, answers, broker.now)
    broker.close()
    told = {
        "store": shown(address),
        "shards": count,
        "profile": settings.profile,
        "unique_business_ids": unique_business_ids,
    }
    tell(told, f"{_first_line(told)}\nNext: conjoin model deploy order.bpmn{_option(data, store)}", as_json)


def _first_line(told: dict[str, object]) -> str:
    shards = "1 shard" if told["shards"] == 1 else f"{told['shards']} shards"
    ids = ", unique business ids" if told["unique_business_ids"] else ""
    return f"made a store in {told['store']}: {shards}, profile {told['profile']}{ids}"


def _option(data: str | None, store: str | None) -> str:
    """The flags that find the store again, if it needs any."""
    if data is not None:
        return f" --data {data}"
    return " --store URL" if store is not None else ""
