"""Our own interface, `/conjoin/v1`: what nobody else has. One file a subject, each with its table of endpoints."""

from conjoin.gateway.rest.conjoin_v1 import (
    bulk,
    explain,
    inbox,
    inbox_receiving,
    messages,
    payloads,
    policies,
    set_aside,
    status,
)
from conjoin.gateway.rest.endpoint import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = (
    *messages.ENDPOINTS,
    *payloads.ENDPOINTS,
    *bulk.ENDPOINTS,
    *explain.ENDPOINTS,
    *inbox_receiving.ENDPOINTS,
    *inbox.ENDPOINTS,
    *policies.ENDPOINTS,
    *set_aside.ENDPOINTS,
    *status.ENDPOINTS,
)
