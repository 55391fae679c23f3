"""The messages that instances wait for, read from their rows: so that subscriptions are looked up, not searched for."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import read_json
from conjoin.store import tables as t
from conjoin.store.rows import InstanceRow, SubscriptionRow

_MESSAGE = 0
"""The kind of a wait for a message."""
_INSIDE, _WAITS = 4, 5
_PLACE = t.SUBSCRIPTION.key


class _Wait(NamedTuple):
    tenant_id: str
    correlation_key: str
    key: int


def subscriptions_of(broker: Broker, rows: Iterable[InstanceRow], most: int) -> list[SubscriptionRow]:
    """Those that are open, or about to take a message: of the first instances first."""
    waits = list(islice((wait for row in rows for wait in _waits(row.tenant_id, read_json(row.body))), most))
    if not waits:
        return []
    where = {column: tuple({getattr(wait, column): None for wait in waits}) for column in _PLACE}
    found = {it[: len(_PLACE)]: it for it in broker.store.rows(t.SUBSCRIPTION, where, None, len(waits))}
    return [found[wait] for wait in waits if wait in found and found[wait].closed_at is None]


def _waits(tenant_id: str, element: list[Any]) -> Iterator[_Wait]:
    for kind, key, _, *rest in (element[_WAITS] if len(element) > _WAITS else None) or ():
        if kind == _MESSAGE:
            yield _Wait(tenant_id, rest[1], key)
    inside = element[_INSIDE] if len(element) > _INSIDE else None
    for child in inside[1] if inside and len(inside) > 1 else ():
        yield from _waits(tenant_id, child)
