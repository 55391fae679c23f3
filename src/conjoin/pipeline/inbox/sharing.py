"""Sharing: the calls that targets allow at a time, over the shards whose tasks make them.

Invariant: what all shares of a target come to is its limit at most, and every task that calls has one of each.
"""

from collections.abc import Mapping, Sequence

from conjoin.runtime.inbox.remote_run import Target
from conjoin.runtime.targets import RemoteTarget, TargetRecipe

Recipes = Mapping[str, TargetRecipe]


def recipes_of(targets: Mapping[str, Target]) -> Recipes:
    """None at all if one of them can only be called in this process: then all of them are called here."""
    recipes = {name: target.recipe for name, target in targets.items() if isinstance(target, RemoteTarget)}
    return recipes if len(recipes) == len(targets) else {}


def callers_of(shards: Sequence[int], recipes: Recipes) -> dict[int, Recipes]:
    """The first of these shards, as many as the smallest limit allows, each with its share; the others come later."""
    most = min((recipe.limits.calls_in_flight for recipe in recipes.values()), default=0)
    callers = shards[:most]
    return {
        shard: {
            name: recipe.with_calls_in_flight(share_of(recipe.limits.calls_in_flight, len(callers), place))
            for name, recipe in recipes.items()
        }
        for place, shard in enumerate(callers)
    }


def share_of(total: int, parts: int, place: int) -> int:
    return total // parts + (place < total % parts)
