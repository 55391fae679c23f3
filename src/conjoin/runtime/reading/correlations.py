"""Correlations: each time a message reached somebody, read from the message's row. Nothing is decided here."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from conjoin.kernel.correlation import events as e
from conjoin.kernel.keys import key_of_rank
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.messages import read_message
from conjoin.store.rows import MessageRow


class Correlation(NamedTuple):
    """`definition_key` is known for a start event; a waiting element has its own key and that of its subscription."""

    at: int
    process_id: str
    instance_key: int
    element_id: str
    element_key: int | None
    subscription_key: int | None
    definition_key: int | None


def correlations_of(broker: Broker, row: MessageRow) -> list[Correlation]:
    """In their order."""
    policy = broker.catalog.view().policy_of(row.name, row.policy_version)
    return list(_read(read_message(row, policy, {})[0].targets))


def _read(targets: list[Any]) -> Iterator[Correlation]:
    for target in targets:
        if isinstance(target, e.InstanceStarted):
            start = target.start
            where = (start.process_id, target.instance_id, start.element_id or "")
            yield Correlation(target.at, *where, None, None, start.definition_key)
        else:
            its = target.subscription
            where = (its.process_id, its.instance_id, its.element_id or "")
            yield Correlation(target.at, *where, key_of_rank(its.rank), its.key, None)
