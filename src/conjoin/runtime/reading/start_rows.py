"""The message start events of the latest versions, in the shape of subscriptions, for lists of who waits for what.

They follow from the catalog and are stored nowhere. Their keys are negative, so that they are nobody else's; each is
the key of a definition and the place of the start event in it.
"""

from conjoin.runtime.broker import Broker
from conjoin.store.rows import SubscriptionRow

_MOST_STARTS = 1_000


def start_rows(broker: Broker) -> list[SubscriptionRow]:
    """In no order."""
    view = broker.catalog.view()
    found = []
    for definition in view.definitions.all_latest():
        for place, start in enumerate(view.deployments.starts_of(definition)):
            if not broker.scope.sees(definition.tenant_id, start.name, definition.process_id):
                continue
            key = -(definition.key * _MOST_STARTS + place)
            which = (definition.tenant_id, "", key, start.name, definition.process_id)
            found.append(SubscriptionRow(*which, 0, 0, start.element_id or "", start.from_at, 1, "", 0, None))
    return found


def definition_of_start(key: int) -> int:
    """Whose start event it is, by its key."""
    return -key // _MOST_STARTS
