"""Status: what the store is, what is deployed, how much is open, and how far each shard is."""

from typing import Any

from starlette.responses import Response

from conjoin.errors import ReadStopped
from conjoin.gateway.monitoring.metrics import OPEN
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.openapi.schemas import COUNT, FLAG, INSTANT, TEXT, array, nullable, whole
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading import finding
from conjoin.store.reading import at_most
from conjoin.times.iso8601 import instant_text

_COUNTING_S = 1.0
MOST_COUNTED = 100_000
"""Of each; what is more is told as so many."""
_MOST_UNDELIVERED = 1_000
"""For each receiver: these rows are read, not counted."""


async def status(call: RestCall) -> Response:
    return await call.service.look(lambda: answer(_status(call.service.broker)))


def _status(broker: Broker) -> dict[str, Any]:
    view, facts = broker.catalog.view(), broker.store.facts
    counts = {name: _counted(broker, *what) for name, what in OPEN.items()}
    return {
        "profile": facts.profile,
        "shards": facts.shards,
        "unique_business_ids": facts.unique_business_ids,
        "catalog_version": view.version,
        "processes": {
            latest.process_id: latest.version
            for latest in view.definitions.all_latest()
            if broker.scope.sees(latest.tenant_id, None, latest.process_id)
        },
        "open": counts,
        "counted_up_to": MOST_COUNTED,
    }


def _counted(broker: Broker, table: str, where: dict[str, Any]) -> int | None:
    """None: it takes too long to count them, for who may see few of many."""
    try:
        with at_most(_COUNTING_S):
            return finding.count(broker, table, where, MOST_COUNTED)
    except ReadStopped:
        return None


async def shards(call: RestCall) -> Response:
    return await call.service.look(lambda: answer({"items": _progress(call.service.broker)}))


def _progress(broker: Broker) -> list[dict[str, Any]]:
    """As `conjoin store status` shows it; what it takes does not grow with what is open."""
    found: list[dict[str, Any]] = []
    received: dict[tuple[int, int], int] = {}
    for shard in range(broker.shard_count):
        with broker.post.look(shard) as snapshot:
            head, (first, last) = snapshot.head, snapshot.log_ends()
            received |= {(sender, shard): number for sender, number in snapshot.received().items()}
        time = instant_text(head.time) if head.time else None
        its = {"shard": shard, "version": head.version, "counter": head.next_key, "time": time}
        found.append(its | {"logged": last - first + 1 if last else 0})
    for shard, progress in enumerate(found):
        with broker.post.look(shard) as snapshot:
            waiting = (
                snapshot.outbox(receiver, received.get((shard, receiver), 0), _MOST_UNDELIVERED)
                for receiver in snapshot.receivers()
            )
            progress["undelivered"] = sum(map(len, waiting))
    return found


_STATUS = whole(
    {
        "profile": TEXT,
        "shards": COUNT,
        "unique_business_ids": FLAG,
        "catalog_version": COUNT,
        "processes": {"type": "object", "additionalProperties": COUNT},
        "open": whole(dict.fromkeys(OPEN, nullable(COUNT))),
        "counted_up_to": COUNT,
    }
)

_SHARD = whole(
    {
        **dict.fromkeys(("shard", "version", "counter", "logged", "undelivered"), COUNT),
        "time": nullable(INSTANT),
    }
)

ENDPOINTS = (
    Endpoint("GET", "/conjoin/v1/status", "getStoreStatus", "How the store is", status, answer=_STATUS),
    Endpoint(
        *("GET", "/conjoin/v1/shards", "listShards", "How far each shard is", shards),
        answer=whole({"items": array(_SHARD)}),
    ),
)
