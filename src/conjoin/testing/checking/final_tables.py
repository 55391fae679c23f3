"""The final tables of a store, as far as the checker looks at them: all shards at one instant.

Messages with who has them, instances with their variables, the post that is left, and from the log what happened to
jobs and how often variables of a request arrived somewhere.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.messages import read_message
from conjoin.runtime.engine.stored_catalog import CatalogView, StoredCatalog
from conjoin.runtime.explain.explanation import Attempt, attempts_of
from conjoin.runtime.run.log import read_block
from conjoin.store import tables as t
from conjoin.store.port import Store
from conjoin.store.rows import InstanceRow, MessageRow, OutboxRow, SubscriptionRow
from conjoin.testing.checking.history import marks_in

_HAS_IT = ("taken", "started", "on_its_way")


class StoredMessage(NamedTuple):
    row: MessageRow
    variables: Mapping[str, Any]
    holders: Sequence[Attempt]
    """Who has it."""


class StoredInstance(NamedTuple):
    """`marks` are the requests whose variables it has."""

    row: InstanceRow
    marks: Sequence[str]


@dataclass(slots=True)
class FinalTables:
    messages: list[StoredMessage] = field(default_factory=list)
    instances: dict[int, StoredInstance] = field(default_factory=dict)
    subscriptions: list[SubscriptionRow] = field(default_factory=list)
    undelivered: list[tuple[int, OutboxRow]] = field(default_factory=list)
    """With the shard that sent it."""
    arrivals: Counter[str] = field(default_factory=Counter)
    """How often the variables of a request were written to an instance that was there."""
    completions: dict[int, list[str]] = field(default_factory=dict)
    """By job: the request of each completion."""
    activations: Counter[tuple[int, str]] = field(default_factory=Counter)
    """By job and worker."""
    log_is_whole: bool = True
    """Its head was not removed."""


def read_tables(store: Store) -> FinalTables:
    found = FinalTables()
    view = StoredCatalog(store.catalog, store.facts.profile).view()
    shards = range(store.facts.shards)
    with store.frozen() as frozen:
        for shard in shards:
            found.messages += (_message(row, view) for row in frozen.rows(shard, t.MESSAGE))
            found.instances |= {row.key: _instance(row) for row in frozen.rows(shard, t.INSTANCE)}
            found.subscriptions += frozen.rows(shard, t.SUBSCRIPTION)
            _read_log(found, frozen, shard)
        taken = {shard: {row.sender: row.seq for row in frozen.rows(shard, t.RECEIVED)} for shard in shards}
        found.undelivered = [
            (shard, row)
            for shard in shards
            for row in frozen.rows(shard, t.OUTBOX)
            if row.seq > taken[row.receiver].get(shard, 0)
        ]
    return found


def _message(row: MessageRow, view: CatalogView) -> StoredMessage:
    message = read_message(row, view.policy_of(row.name, row.policy_version), {})[0]
    holders = [attempt for attempt in attempts_of(message) if attempt.outcome in _HAS_IT]
    return StoredMessage(row, message.payload or {}, holders)


def _instance(row: InstanceRow) -> StoredInstance:
    """Its own variables are the fourth of its body, and left out where it has none."""
    body = read_json(row.body)
    return StoredInstance(row, marks_in(body[3] if len(body) > 3 else None))


def _read_log(found: FinalTables, frozen: Any, shard: int) -> None:
    for number, row in enumerate(frozen.rows(shard, t.LOG)):
        found.log_is_whole &= number > 0 or row.version == 1
        for entry in read_block(row.block):
            for event in entry.events:
                _note(found, event)


def _note(found: FinalTables, event: Any) -> None:
    if event.kind == "VariablesWritten":
        found.arrivals.update(marks_in(event.variables))
    elif event.kind == "JobCompleted":
        found.completions.setdefault(event.key, []).extend(marks_in(event.variables) or [""])
    elif event.kind == "JobActivated":
        found.activations[event.key, event.worker] += 1
