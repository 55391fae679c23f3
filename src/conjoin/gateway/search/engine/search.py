"""What a search is: a table of the store, its fields, and how its rows become items. One value for each; one engine.

An item is a mapping from the names of the fields to plain values. Most rows are one item; a message may have reached
several instances, and an instance has many variables.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any

from conjoin.gateway.search.engine.fields import KEY, TEXT, Field, only_shown
from conjoin.gateway.search.engine.filters import Condition, read_conditions
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.visibility.hiding import Hiding

Item = dict[str, Any]
RowTest = Callable[[Hiding, Any, Item], bool]
"""Of a row, whose variables are compared as they are shown, and the item that is made of it."""


@dataclass(frozen=True)
class Search:
    name: str
    """As it stands in the address."""
    table: str
    fields: tuple[Field, ...]
    items: Callable[[Broker, Sequence[Any]], Iterable[Sequence[Item]]]
    """For each row its items, in an order that does not change."""
    where: Mapping[str, tuple[tuple[str, Any], ...]] = field(default_factory=dict)
    """Conditions that all its rows meet."""
    is_one: bool = True
    """A row is one item."""
    more_rows: Callable[[Broker], Sequence[Any]] = lambda broker: ()
    """Rows of the same shape that are not in the table."""
    row_filters: Mapping[str, Callable[[Any], RowTest]] = field(default_factory=dict)
    """Filters by what is no field, made of what the client sent. They raise `InputError`."""
    row_filter_schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For OpenAPI."""
    narrowed: Callable[[Broker, Sequence[Condition]], Sequence[Condition]] = lambda broker, conditions: ()
    """Conditions that follow from those of the client, so that the store has less to look through."""

    @cached_property
    def key(self) -> Field:
        return self.fields[0]

    @cached_property
    def filter_fields(self) -> dict[str, Field]:
        return {it.name: it for it in self.fields if it.filters and it.kind.operators}

    @cached_property
    def sort_fields(self) -> dict[str, Field]:
        return {it.name: it for it in self.fields if it.sorts}

    @cached_property
    def _columns(self) -> tuple[list[Field], Callable[[Any], tuple[Any, ...]]]:
        fields = [it for it in self.fields if it.column]
        return fields, attrgetter(*(it.column for it in fields))

    def columns_of(self, row: Any) -> Item:
        """The fields that the row itself has."""
        fields, values = self._columns
        return {it.name: it.of_column(value) for it, value in zip(fields, values(row), strict=True)}

    def to_plain(self, item: Item) -> dict[str, Any]:
        """As it goes to the client."""
        return {it.name: it.to_plain(item[it.name]) for it in self.fields if it.is_shown}


def one_of(name: str, values: Callable[[Any, Item], Iterable[str]]) -> Callable[[Any], RowTest]:
    """A filter that one of several values of a row must meet."""

    def read(raw: Any) -> RowTest:
        conditions = read_conditions({name: raw}, {name: Field(name, TEXT)})
        return lambda hiding, row, item: any(
            all(it.holds({name: value}) for it in conditions) for value in values(row, item)
        )

    return read


OF_ELEMENT = (
    Field("elementId", TEXT, "element_id"),
    Field("elementInstanceKey", KEY, "element_key"),
    Field("processDefinitionId", TEXT),
    Field("processDefinitionKey", KEY),
    Field("processInstanceKey", KEY, "instance_key"),
    only_shown("rootProcessInstanceKey", KEY, nullable=True),
)
"""Where a row stands that belongs to an element of an instance."""


def with_instances(item: Callable[[Broker, Any, Any], Item]) -> Callable[[Broker, Sequence[Any]], Iterator[list[Item]]]:
    """Items of rows that belong to an instance; none where it has gone since the rows were read."""

    def items(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
        instances = rows_with(broker, "instance", (row.instance_key for row in rows))
        for row in rows:
            its = instances.get(row.instance_key)
            if its is None:
                yield []
            else:
                which = {"processDefinitionId": its.process_id, "processDefinitionKey": its.definition_key}
                yield [{**which, "rootProcessInstanceKey": its.tree_key, **item(broker, row, its)}]

    return items
