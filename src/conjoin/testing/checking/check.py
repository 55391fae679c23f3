"""The answer: yes, no with the first contradiction, or unknown where the history or the log is not whole.

It knows the acknowledged history and the final tables, and nothing of how they came about. The log must replay to the
tables, and with the post delivered nothing may be left halfway between two shards.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Literal, NamedTuple

from conjoin.runtime.replay.replay import verify_store
from conjoin.store.port import Store
from conjoin.testing.checking import instances, messages
from conjoin.testing.checking.final_tables import FinalTables, read_tables
from conjoin.testing.checking.history import RecordedHistory


class Finding(NamedTuple):
    answer: Literal["yes", "no", "unknown"]
    sentence: str = ""


def check(history: RecordedHistory, store: Store) -> Finding:
    """For a store at rest: everybody who wrote has ended, and a `tick` has delivered what they left."""
    if history.gaps:
        return Finding("unknown", history.gaps[0])
    tables = read_tables(store)
    found = chain(messages.contradictions(history, tables), instances.contradictions(history, tables), _halfway(tables))
    for sentence in chain(found, _replayed(store) if tables.log_is_whole else ()):
        return Finding("no", sentence)
    if not tables.log_is_whole:
        return Finding("unknown", "the head of the log was removed, so it cannot be replayed")
    return Finding("yes")


def _halfway(tables: FinalTables) -> Iterator[str]:
    for sender, row in tables.undelivered:
        yield f"order {row.seq} of shard {sender} to shard {row.receiver} was not carried out: {row.command}"
    for subscription in tables.subscriptions:
        if subscription.busy_with:
            yield f"subscription {subscription.key} waits for an answer about message {subscription.busy_with} for ever"


def _replayed(store: Store) -> Iterator[str]:
    for checked in verify_store(store):
        if checked.difference is not None:
            yield f"the log of shard {checked.shard} does not replay to its tables: {checked.difference}"
