"""A random stream of requests: what is asked follows from the seed and the number of the request alone."""

from random import Random
from typing import Any, NamedTuple

from conjoin.testing.checking import RequestMade, marked

KEYS = 3
HOUR_MS = 3_600_000
TTLS_MS = (0, 5_000, 20_000, HOUR_MS)
"""A request comes a second after the one before, so that some expire on the way."""
_KINDS = {"create": 6, "publish": 10, "correlate": 2, "activate": 2, "complete": 4, "cancel": 1, "tick": 1}

_MESSAGES = [("paid", "o"), ("paid", "o"), ("shipped", "p"), ("shipped", "p"), ("claimed", "p"), ("settled", "p")]
"""With the letter of their keys."""


class Known(NamedTuple):
    """What a client has been told: jobs to complete, and instances that it created."""

    jobs: list[int]
    instances: list[int]


class Story:
    def __init__(self, seed: str, writer: str = "a") -> None:
        self._seed = seed
        self._writer = writer

    def request(self, number: int, known: Known) -> RequestMade:
        rng = Random(f"{self._seed}/{self._writer}/{number}")
        kind: Any = rng.choices(list(_KINDS), list(_KINDS.values()))[0]
        if kind == "complete" and not known.jobs:
            kind = "activate"
        if kind == "cancel" and not known.instances:
            kind = "create"
        name = f"{self._writer}{number}"
        return RequestMade(name, kind, getattr(self, f"_{kind}")(name, rng, known))

    def _create(self, name: str, rng: Random, known: Known) -> dict[str, Any]:
        keys = {"orderId": f"o-{rng.randrange(KEYS)}", "parcelId": f"p-{rng.randrange(KEYS)}"}
        return {"process_id": rng.choice(["order", "order", "audit"]), "variables": marked(name, keys)}

    def _publish(self, name: str, rng: Random, known: Known) -> dict[str, Any]:
        said = self._correlate(name, rng, known)
        message_id = f"m-{rng.randrange(2)}" if rng.random() < 0.4 else ""
        return {**said, "ttl_ms": rng.choice(TTLS_MS), "message_id": message_id}

    def _correlate(self, name: str, rng: Random, known: Known) -> dict[str, Any]:
        message, letter = rng.choice(_MESSAGES)
        key = f"{letter}-{rng.randrange(KEYS)}"
        # What starts a claim must say which parcel; for the others it would replace that of the instance.
        variables = {"parcelId": key} if message == "claimed" else {}
        return {"name": message, "key": key, "variables": marked(name, variables)}

    def _activate(self, name: str, rng: Random, known: Known) -> dict[str, Any]:
        return {"limit": rng.randint(1, 3), "timeout_ms": rng.choice([3_000, HOUR_MS])}

    def _complete(self, name: str, rng: Random, known: Known) -> dict[str, Any]:
        return {"job": known.jobs.pop(rng.randrange(len(known.jobs))), "variables": marked(name, {})}

    def _cancel(self, name: str, rng: Random, known: Known) -> dict[str, Any]:
        return {"instance": known.instances.pop(rng.randrange(len(known.instances)))}

    def _tick(self, name: str, rng: Random, known: Known) -> dict[str, Any]:
        return {}
