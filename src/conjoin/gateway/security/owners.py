"""Whose something is, by its key alone: the tenant, the process and the type of a job. They read the store."""

from conjoin.gateway.security.grants import Thing
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.instances import instance_holding


def of_instance(broker: Broker, key: int) -> Thing | None:
    row = rows_with(broker, "instance", [key]).get(key)
    return None if row is None else Thing(row.tenant_id, process=row.process_id)


def of_message(broker: Broker, key: int) -> Thing | None:
    row = rows_with(broker, "message", [key]).get(key)
    return None if row is None else Thing(row.tenant_id, row.name)


def of_scope(broker: Broker, key: int) -> Thing | None:
    """Of an instance, or of an element instance in one."""
    row = instance_holding(broker, key)
    return None if row is None else Thing(row.tenant_id, process=row.process_id)


def of_job(broker: Broker, key: int) -> Thing | None:
    row = rows_with(broker, "job", [key]).get(key)
    its = None if row is None else of_instance(broker, row.instance_key)
    return None if row is None else Thing(row.tenant_id, None, its.process if its else None, row.type)


def of_incident(broker: Broker, key: int) -> Thing | None:
    row = rows_with(broker, "incident", [key]).get(key)
    return None if row is None else of_instance(broker, row.instance_key)
