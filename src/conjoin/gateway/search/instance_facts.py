"""What jobs, incidents and the like are told with of the instance they are in. It may have gone between two looks."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.finding import rows_with


class InstanceFacts(NamedTuple):
    process_id: str
    definition_key: int
    root_key: int
    tenant_id: str
    started_at: int
    row: Any


def facts_of(broker: Broker, rows: Iterable[Any]) -> dict[int, InstanceFacts]:
    """Of the instances that rows name in `instance_key`."""
    instances = rows_with(broker, "instance", (row.instance_key for row in rows))
    return {
        key: InstanceFacts(row.process_id, row.definition_key, row.tree_key, row.tenant_id, row.started_at, row)
        for key, row in instances.items()
    }
