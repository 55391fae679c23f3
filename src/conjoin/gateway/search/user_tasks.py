"""The search for user tasks that wait for a person. Completed ones leave nothing behind.

The store keeps no time of its own for a task: `creationDate` is the start of its instance.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from conjoin.gateway.search.engine.fields import ANYTHING, INSTANT, KEY, NUMBER, TEXT, Field, only_shown, words
from conjoin.gateway.search.engine.filters import read_conditions
from conjoin.gateway.search.engine.schemas import filter_schema
from conjoin.gateway.search.engine.search import Item, RowTest, Search
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.user_tasks import USER_TASK, for_people
from conjoin.runtime.visibility.hiding import Hiding

_STATES = ("CREATING", "CREATED", "ASSIGNING", "UPDATING", "COMPLETING", "COMPLETED", "CANCELING", "CANCELED", "FAILED")


def _items(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    instances = rows_with(broker, "instance", (row.instance_key for row in rows))
    by_key = broker.definitions.by_key
    for row in rows:
        instance = instances.get(row.instance_key)
        if instance is None:
            yield []
            continue
        plan = by_key[instance.definition_key].plan
        element = plan.elements[row.element_id]
        told = for_people(element, row.element_key, instance, broker.now, broker.hiding)
        names = {"name": element.name, "processName": plan.name}
        yield [_item(row, instance) | names | _of_people(told)]


def _item(row: Any, instance: Any) -> Item:
    return {
        "userTaskKey": row.key,
        "state": "CREATED",
        "assignee": row.worker or None,
        "elementId": row.element_id,
        "elementInstanceKey": row.element_key,
        "processDefinitionId": instance.process_id,
        "processDefinitionKey": instance.definition_key,
        "processDefinitionVersion": instance.version,
        "processInstanceKey": row.instance_key,
        "rootProcessInstanceKey": instance.tree_key,
        "businessId": instance.business_id or None,
        "tenantId": row.tenant_id,
        "creationDate": instance.started_at,
        "completionDate": None,
        **{"formKey": None, "customHeaders": {}, "tags": []},
    }


def _of_people(told: Any) -> Item:
    return {
        "candidateGroups": list(told.candidate_groups),
        "candidateUsers": list(told.candidate_users),
        "dueDate": told.due_at,
        "followUpDate": told.follow_up_at,
        "priority": told.priority,
        "externalFormReference": told.form_reference,
    }


def _one_of(name: str) -> Callable[[Any], RowTest]:
    """A filter that one of a list must meet: `candidateGroup` for what is shown as `candidateGroups`."""
    field = Field(name, TEXT)

    def read(said: Any) -> RowTest:
        conditions = read_conditions({name: said}, {name: field})

        def test(hiding: Hiding, row: Any, item: Item) -> bool:
            return any(all(it.holds({name: value}) for it in conditions) for value in item[f"{name}s"])

        return test

    return read


_CANDIDATES = ("candidateGroup", "candidateUser")

USER_TASKS = Search(
    "user-tasks",
    "job",
    (
        Field("userTaskKey", KEY, "key"),
        Field("name", TEXT, nullable=True),
        Field("state", words(*_STATES)),
        Field("assignee", TEXT, "worker", nothing="", nullable=True),
        Field("elementId", TEXT, "element_id"),
        Field("elementInstanceKey", KEY, "element_key"),
        Field("processDefinitionId", TEXT),
        Field("processDefinitionKey", KEY),
        only_shown("processDefinitionVersion", NUMBER),
        Field("processInstanceKey", KEY, "instance_key"),
        only_shown("rootProcessInstanceKey", KEY, nullable=True),
        Field("businessId", TEXT, nullable=True),
        Field("tenantId", TEXT, "tenant_id"),
        Field("creationDate", INSTANT),
        Field("completionDate", INSTANT, nullable=True),
        Field("dueDate", INSTANT, nullable=True),
        Field("followUpDate", INSTANT, nullable=True),
        Field("priority", NUMBER),
        only_shown("processName", TEXT, nullable=True),
        only_shown("externalFormReference", TEXT, nullable=True),
        only_shown("formKey", KEY, nullable=True),
        only_shown("candidateGroups", ANYTHING),
        only_shown("candidateUsers", ANYTHING),
        only_shown("customHeaders", ANYTHING),
        only_shown("tags", ANYTHING),
    ),
    _items,
    {"type": (("=", USER_TASK),)},
    row_filters={name: _one_of(name) for name in _CANDIDATES},
    row_filter_schemas={name: filter_schema(Field(name, TEXT)) for name in _CANDIDATES},
)
