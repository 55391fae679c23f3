"""Which instance an element instance is in, found by its key alone."""

from contextlib import closing

from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.instances import elements_of
from conjoin.runtime.reading.rows import rows_with
from conjoin.runtime.run.working_set.elements_by_key import instances_with_elements
from conjoin.store.rows import InstanceRow


def instance_holding(broker: Broker, element_key: int) -> InstanceRow | None:
    its_own: InstanceRow | None = rows_with(broker, "instance", [element_key]).get(element_key)
    shard = broker.homes.shard_of_record(element_key)
    if its_own is not None or shard < 0:
        return its_own
    with closing(broker.store.shard(shard).reader()) as reader:
        snapshot = reader.begin()
        keys = instances_with_elements(snapshot, [element_key])
        snapshot.abandon()
    rows = rows_with(broker, "instance", keys).values()
    return next((row for row in rows if any(it.key == element_key for it in elements_of(row))), None)
