"""What a search is: a table of the store, its fields, and how its rows become items. One value for each; one engine.

An item is a mapping from the names of the fields to plain values. Most rows are one item; a message may have reached
several instances, and an instance has many variables.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from conjoin.gateway.search.engine.fields import Field
from conjoin.gateway.search.engine.filters import Condition
from conjoin.runtime.broker import Broker
from conjoin.runtime.visibility.hiding import Hiding

Item = dict[str, Any]
RowTest = Callable[[Hiding, Any, Item], bool]
"""Of a row, of which only the hidden view may be compared, and the item that is made of it."""


def no_more(broker: Broker) -> Sequence[Any]:
    return ()


def not_narrowed(broker: Broker, conditions: Sequence[Condition]) -> Sequence[Condition]:
    return ()


@dataclass(frozen=True)
class Search:
    name: str
    """As it stands in the address."""
    table: str
    fields: tuple[Field, ...]
    items: Callable[[Broker, Sequence[Any]], Iterable[Sequence[Item]]]
    """For each row its items, in an order that does not change."""
    where: Mapping[str, tuple[tuple[str, Any], ...]] = field(default_factory=dict)
    """What holds of its rows among those of the table."""
    is_one: bool = True
    """A row is one item."""
    more_rows: Callable[[Broker], Sequence[Any]] = no_more
    """Rows of the same shape that are not in the table."""
    row_filters: Mapping[str, Callable[[Any], RowTest]] = field(default_factory=dict)
    """Filters by what is no field, made of what the client said. They raise `InputError`."""
    row_filter_schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For the document."""
    narrowed: Callable[[Broker, Sequence[Condition]], Sequence[Condition]] = not_narrowed
    """Conditions that follow from those of the client, for the store to have less to look through."""

    @cached_property
    def key(self) -> Field:
        return self.fields[0]

    @cached_property
    def filter_fields(self) -> dict[str, Field]:
        return {it.name: it for it in self.fields if it.filters and it.kind.operators}

    @cached_property
    def sort_fields(self) -> dict[str, Field]:
        return {it.name: it for it in self.fields if it.sorts}

    def told(self, item: Item) -> dict[str, Any]:
        """As it goes to the client."""
        return {it.name: it.told(item[it.name]) for it in self.fields if it.is_shown}
