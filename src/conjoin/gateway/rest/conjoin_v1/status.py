"""Status: what the store is, what is deployed, and how much is open."""

from typing import Any

from starlette.responses import Response

from conjoin.errors import ReadStopped
from conjoin.gateway.monitoring.metrics import OPEN
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.openapi.schemas import COUNT, FLAG, TEXT, nullable, whole
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading import finding
from conjoin.store.reading import at_most

_COUNTING_S = 1.0
MOST_COUNTED = 100_000
"""Of each; what is more is told as so many."""


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

ENDPOINTS = (Endpoint("GET", "/conjoin/v1/status", "getStoreStatus", "How the store is", status, answer=_STATUS),)
