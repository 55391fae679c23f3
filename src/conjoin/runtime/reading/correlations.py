"""For searches of correlations and subscriptions: who received a message, and the message start events.

Correlations are read from the row of the message. Start events follow from the catalog and are stored nowhere: they
are shown as subscriptions with negative keys, which nothing else has. Nothing is decided here.
"""

from typing import NamedTuple

from conjoin.kernel.correlation import events as e
from conjoin.kernel.keys import key_of_rank
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.messages import read_message
from conjoin.store.rows import MessageRow, SubscriptionRow

_MOST_STARTS = 1_000
"""Of a definition: a key is that of the definition, and the number of the start event in it."""


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
    found = []
    for target in read_message(row, policy, {})[0].targets:
        if isinstance(target, e.InstanceStarted):
            start = target.start
            where = (start.process_id, target.instance_id, start.element_id or "")
            found.append(Correlation(target.at, *where, None, None, start.definition_key))
        else:
            its = target.subscription
            where = (its.process_id, its.instance_id, its.element_id or "")
            found.append(Correlation(target.at, *where, key_of_rank(its.rank), its.key, None))
    return found


def start_rows(broker: Broker) -> list[SubscriptionRow]:
    """Of the latest versions, in no order."""
    view = broker.catalog.view()
    found = []
    for definition in view.definitions.all_latest():
        for number, start in enumerate(view.deployments.starts_of(definition)):
            if not broker.scope.sees(definition.tenant_id, start.name, definition.process_id):
                continue
            key = -(definition.key * _MOST_STARTS + number)
            which = (definition.tenant_id, "", key, start.name, definition.process_id)
            found.append(SubscriptionRow(*which, 0, 0, start.element_id or "", start.from_at, 1, "", 0, None))
    return found


def definition_of_start(key: int) -> int:
    """By the key of such a row."""
    return -key // _MOST_STARTS
