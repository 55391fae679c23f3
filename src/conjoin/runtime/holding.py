"""Which instance an element instance is in, found by its key alone."""

from contextlib import closing

from conjoin.runtime.broker import Broker
from conjoin.runtime.finding import rows_with
from conjoin.runtime.inside import elements_of
from conjoin.store import tables as t
from conjoin.store.rows import InstanceRow


def instance_holding(broker: Broker, element_key: int) -> InstanceRow | None:
    """Slow for an element without others inside: the instances of its shard are looked through."""
    its_own: InstanceRow | None = rows_with(broker, "instance", [element_key]).get(element_key)
    shard = broker.homes.shard_of_record(element_key)
    if its_own is not None or shard < 0:
        return its_own
    with closing(broker.store.shard(shard).reader()) as reader:
        snapshot = reader.begin()
        scopes = snapshot.instances_of(t.SCOPE, [element_key])
        keys = list(scopes.values()) or snapshot.instances_mentioning(element_key)
        snapshot.abandon()
    rows = rows_with(broker, "instance", keys).values()
    return next((row for row in rows if any(it.key == element_key for it in elements_of(row))), None)
