"""Values that the store has not as such: derived from its columns, a batch at a time."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from conjoin.pipeline.source.columns import Derive, Meaning
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.lists import LISTS

_INSTANCE = LISTS["instances"].table
_items_of = msgspec.json.Decoder(list[msgspec.Raw]).decode
_WAITING = ("closed_at", "=", None)

SUBSCRIPTION_STATES = {
    "open": Meaning((_WAITING, ("busy_with", "=", 0))),
    "busy": Meaning((_WAITING, ("busy_with", "<>", 0))),
    "closed": Meaning((("closed_at", "<>", None),)),
}


def subscription_states(_: Broker, closed_at: Iterable[int | None], busy_with: Iterable[int]) -> Iterator[str]:
    for closed, busy in zip(closed_at, busy_with, strict=True):
        yield "closed" if closed is not None else "busy" if busy else "open"


def instance_variables(body: str) -> str:
    """The fourth item of a body, as it was written; what is empty at its end was left out."""
    items = _items_of(body)
    variables = bytes(items[3]).decode() if len(items) > 3 else "null"
    return "{}" if variables == "null" else variables


def of_instance(name: str) -> Derive:
    """A column of the instance with a key; None for one that is gone meanwhile."""

    def read(broker: Broker, keys: Sequence[int]) -> Iterator[Any]:
        wanted = tuple(dict.fromkeys(keys))
        rows = broker.store.rows(_INSTANCE, {"key": wanted}, None, len(wanted))
        return map({row.key: getattr(row, name) for row in rows}.get, keys)

    return read
