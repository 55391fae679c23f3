"""How an instance ended, for whoever waits for it: read off its row, as a commit wrote it or a store holds it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.run.instance_changes import ACTIVE, COMPLETED
from conjoin.store import tables as t
from conjoin.store.rows import InstanceRow


class InstanceEnd(NamedTuple):
    key: int
    completed: bool
    """Otherwise it was cancelled."""
    variables: Mapping[str, Any]


def end_of(row: InstanceRow) -> InstanceEnd | None:
    if row.state == ACTIVE:
        return None
    # Of an ended instance its key, its element, no state and its variables are kept.
    _, _, _, variables, *_ = read_json(row.body)
    return InstanceEnd(row.key, row.state == COMPLETED, variables or {})


def stored_end(broker: Broker, key: int) -> InstanceEnd | None:
    for row in broker.store.rows(t.INSTANCE, {"key": key}, None, 1):
        return end_of(row)
    return None
