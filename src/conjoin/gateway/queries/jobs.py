"""Queries of the console about open jobs: those of workers, and the tasks of people. Nothing is decided here."""

from typing import Any

from conjoin.gateway.queries import store as queries
from conjoin.gateway.queries.element_names import with_names
from conjoin.gateway.queries.incidents import with_since
from conjoin.gateway.queries.store import Wanted
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.instances import for_people
from conjoin.runtime.reading.key_times import KeyTimes
from conjoin.times.iso8601 import instant_text


def job_page(broker: Broker, times: KeyTimes, wanted: Wanted) -> dict[str, Any]:
    """The newest first, each with its names and `since_at`."""
    found = queries.page(broker, "jobs", wanted)
    return {**found, "items": with_since(broker, times, with_names(broker, found["items"]))}


def task_page(broker: Broker, times: KeyTimes, wanted: Wanted) -> dict[str, Any]:
    """The same of tasks, with what their models say of them: when they are due, and for whom."""
    found = queries.page(broker, "tasks", wanted)
    items = [{**it, **_of_people(broker, it)} for it in with_names(broker, found["items"])]
    return {**found, "items": with_since(broker, times, items)}


def _of_people(broker: Broker, item: dict[str, Any]) -> dict[str, Any]:
    row = rows_with(broker, "instance", [int(item["instance_key"])]).get(int(item["instance_key"]))
    definition = None if row is None else broker.definitions.by_key.get(row.definition_key)
    element = None if definition is None else definition.plan.elements.get(item["element_id"])
    job = rows_with(broker, "job", [int(item["key"])]).get(int(item["key"]))
    if row is None or element is None or job is None:
        return {"due": "", "people": [], "priority": ""}
    its = for_people(element, job.element_key, row, broker.now, broker.hiding)
    due = "" if its["dueDate"] is None else instant_text(its["dueDate"])
    return {"due": due, "people": [*its["candidateUsers"], *its["candidateGroups"]], "priority": its["priority"]}
