"""A search as a client asks for it: filter, sort and page, read strictly. Unknown properties are refused by name."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.gateway.search.engine.fields import Field
from conjoin.gateway.search.engine.filters import OR, Condition, read_conditions
from conjoin.gateway.search.engine.paging import PageRequest, read_page
from conjoin.gateway.search.engine.search import RowTest, Search

MOST_ALTERNATIVES = 100


class ConditionGroup(NamedTuple):
    """Conditions that must all hold."""

    conditions: Sequence[Condition] = ()
    row_tests: Sequence[RowTest] = ()


class SortKey(NamedTuple):
    field: Field
    descending: bool


class SearchRequest(NamedTuple):
    """All of `group`, and if there are any, one of `either`."""

    group: ConditionGroup = ConditionGroup()
    either: Sequence[ConditionGroup] = ()
    sort: Sequence[SortKey] = ()
    page: PageRequest = PageRequest()


def read_asked(search: Search, said: Any) -> SearchRequest:
    """Raises `InputError` with what is wrong."""
    if not isinstance(said, dict):
        raise InputError(["The body is an object with filter, sort and page"])
    unknown = [f"Request property [{name}] cannot be parsed" for name in said if name not in ("filter", "sort", "page")]
    if unknown:
        raise InputError(unknown)
    filters = {} if said.get("filter") is None else said["filter"]
    if not isinstance(filters, dict):
        raise InputError(["filter is an object of fields"])
    alone = {name: value for name, value in filters.items() if name != OR}
    return SearchRequest(
        _read_group(search, alone, "filter"),
        _read_either(search, filters.get(OR)),
        _read_sort(search, [] if said.get("sort") is None else said["sort"]),
        read_page(said.get("page")),
    )


def _read_group(search: Search, said: Mapping[str, Any], where: str) -> ConditionGroup:
    if not isinstance(said, dict):
        raise InputError([f"{where} is an object of fields"])
    of_rows = {name: value for name, value in said.items() if name in search.row_filters and value is not None}
    others = {name: value for name, value in said.items() if name not in search.row_filters}
    tests = [search.row_filters[name](value) for name, value in of_rows.items()]
    return ConditionGroup(read_conditions(others, search.filter_fields, where), tests)


def _read_either(search: Search, said: Any) -> list[ConditionGroup]:
    if said is None:
        return []
    if not isinstance(said, list) or len(said) > MOST_ALTERNATIVES:
        raise InputError([f"filter.{OR} is a list of at most {MOST_ALTERNATIVES} filters"])
    return [_read_group(search, group, f"filter.{OR}") for group in said]


def _read_sort(search: Search, said: Any) -> list[SortKey]:
    if not isinstance(said, list) or not all(isinstance(part, dict) for part in said):
        raise InputError(["sort is a list of objects with a field and an order"])
    return [_read_sorted(search, part) for part in said]


def _read_sorted(search: Search, said: dict[str, Any]) -> SortKey:
    unknown = [f"Request property [sort.{name}] cannot be parsed" for name in said if name not in ("field", "order")]
    if unknown:
        raise InputError(unknown)
    name = said.get("field")
    field = search.sort_fields.get(name) if isinstance(name, str) else None
    if field is None:
        raise InputError([f"sort.field: {name!r:.60} is none of {', '.join(search.sort_fields)}"])
    order = "ASC" if said.get("order") is None else said["order"]
    if not isinstance(order, str) or order.upper() not in ("ASC", "DESC"):
        raise InputError([f"sort.order: {order!r:.60} is none of ASC, DESC"])
    return SortKey(field, order.upper() == "DESC")
