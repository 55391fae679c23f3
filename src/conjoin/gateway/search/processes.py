"""The searches for process definitions, every version that was deployed, and for process instances, running and ended.

The store keeps which call activity called an instance, and of a call that is over only the tree it was in: then the
outermost instance is shown as its parent.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conjoin.errors import InputError
from conjoin.gateway.search.engine.fields import ANYTHING, FLAG, INSTANT, KEY, NUMBER, TEXT, Field, only_shown, words
from conjoin.gateway.search.engine.filters import Condition, read_conditions
from conjoin.gateway.search.engine.schemas import filter_schema
from conjoin.gateway.search.engine.search import Item, RowTest, Search, one_of
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.reading import finding
from conjoin.runtime.reading.finding import Meets, rows_with
from conjoin.runtime.reading.instances import elements_of
from conjoin.runtime.visibility.hiding import Hiding

STATES = {"ACTIVE": ("active",), "COMPLETED": ("completed",), "TERMINATED": ("terminated",)}
_VALUE = Field("value", TEXT)
_CALLER = Field("parentProcessInstanceKey", KEY, nullable=True)
_CALL = Field("parentElementInstanceKey", KEY, "parent_key", nothing=0, nullable=True)
_TREE = only_shown("rootProcessInstanceKey", KEY, "tree_key", nullable=True)
_LARGEST_TREE = 10_000


def _instances(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    by_key = broker.definitions.by_key
    callers = _callers(broker, rows)
    for row in rows:
        plan = by_key[row.definition_key].plan
        yield [
            {
                **PROCESS_INSTANCES.columns_of(row),
                "processDefinitionName": plan.name,
                "processDefinitionVersionTag": plan.version_tag,
                "parentProcessInstanceKey": callers.get(row.parent_key, row.tree_key) if row.parent_key else None,
                "hasIncident": row.incidents > 0,
                **{"suspendedDate": None, "tags": []},
            }
        ]


def _callers(broker: Broker, rows: Sequence[Any]) -> dict[int, int]:
    """By the key of a call activity that still waits, the instance it is in."""
    calls = {row.parent_key: row.tree_key for row in rows if row.parent_key and row.state == "active"}
    found = _by_element(rows_with(broker, "instance", calls.values()).values())
    for tree in {tree for call, tree in calls.items() if call not in found}:
        where = {"tree_key": tree, "parent_key": Meets((("<>", 0),)), "state": "active"}
        found |= _by_element(finding.rows(broker, "instance", where, _LARGEST_TREE))
    return found


def _by_element(rows: Iterable[Any]) -> dict[int, int]:
    return {element.key: row.key for row in rows for element in elements_of(row)}


def _in_their_trees(broker: Broker, conditions: Sequence[Condition]) -> list[Condition]:
    """An instance that was called is in the tree of its caller, and the store has an index of trees."""
    callers = [it.value for it in conditions if it.field is _CALLER and it.operator == "$eq"]
    known = rows_with(broker, "instance", callers)
    trees = [known[key].tree_key if key in known else key for key in callers]
    return [it for tree in trees for it in (Condition(_TREE, "$eq", tree), Condition(_CALL, "$exists", True))]


def _of_variables(raw: Any) -> RowTest:
    """Every one of them must be there: `[{"name": "orderId", "value": "\\"o-1\\""}]`, values as JSON texts."""
    if not isinstance(raw, list) or not all(isinstance(it, dict) and isinstance(it.get("name"), str) for it in raw):
        raise InputError(["filter.variables is a list of objects with a name and a value"])
    wanted = [(it["name"], read_conditions({"value": it.get("value")}, {"value": _VALUE})) for it in raw]

    def test(hiding: Hiding, row: Any, item: Item) -> bool:
        root = elements_of(row)[0].variables
        shown = {name: json_text(hiding.value(name, root[name])) for name, _ in wanted if name in root}
        return len(shown) == len({name for name, _ in wanted}) and all(
            it.holds({"value": shown[name]}) for name, conditions in wanted for it in conditions
        )

    return test


_VARIABLE_SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "value": filter_schema(_VALUE)},
}

PROCESS_INSTANCES = Search(
    "process-instances",
    "instance",
    (
        Field("processInstanceKey", KEY, "key"),
        Field("processDefinitionId", TEXT, "process_id"),
        Field("processDefinitionName", TEXT, nullable=True),
        Field("processDefinitionVersion", NUMBER, "version"),
        Field("processDefinitionVersionTag", TEXT, nullable=True),
        Field("processDefinitionKey", KEY, "definition_key"),
        _CALLER,
        _CALL,
        _TREE,
        Field("startDate", INSTANT, "started_at"),
        Field("endDate", INSTANT, "ended_at", sparse=True, nullable=True),
        only_shown("suspendedDate", INSTANT, nullable=True),
        Field("state", words(*STATES), "state", stored=STATES),
        Field("hasIncident", FLAG),
        Field("tenantId", TEXT, "tenant_id"),
        Field("businessId", TEXT, "business_id", nothing="", nullable=True),
        only_shown("tags", ANYTHING),
    ),
    _instances,
    row_filters={
        "variables": _of_variables,
        # Something waits there now.
        "elementId": one_of("elementId", lambda row, item: (it.element_id for it in elements_of(row)[1:])),
    },
    row_filter_schemas={
        "variables": {"type": "array", "items": _VARIABLE_SCHEMA},
        "elementId": filter_schema(Field("elementId", TEXT)),
    },
    narrowed=_in_their_trees,
)


def _definitions(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    for row in rows:
        plan = broker.definitions.by_key[row.key].plan
        latest = broker.definitions.latest(row.tenant_id, row.process_id)
        of_plan = {"name": plan.name, "versionTag": plan.version_tag, "hasStartForm": False, "state": "ACTIVE"}
        is_latest = latest is not None and latest.key == row.key
        yield [{**PROCESS_DEFINITIONS.columns_of(row), **of_plan, "isLatestVersion": is_latest}]


PROCESS_DEFINITIONS = Search(
    "process-definitions",
    "definition",
    (
        Field("processDefinitionKey", KEY, "key"),
        Field("processDefinitionId", TEXT, "process_id"),
        Field("name", TEXT, nullable=True),
        Field("resourceName", TEXT, "resource"),
        Field("version", NUMBER, "version"),
        Field("versionTag", TEXT, nullable=True),
        Field("tenantId", TEXT, "tenant_id"),
        Field("hasStartForm", FLAG, sorts=False),
        Field("state", words("ACTIVE", "DRAINING", "DELETED"), sorts=False),
        Field("isLatestVersion", FLAG, sorts=False, is_shown=False),
    ),
    _definitions,
)
