"""The request of a search: filter, sort and page, read strictly. Unknown properties are refused by name."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.gateway.search.engine.fields import Field
from conjoin.gateway.search.engine.filters import OR, Condition, read_conditions
from conjoin.gateway.search.engine.search import RowTest, Search

MOST_ALTERNATIVES = 100
DEFAULT_LIMIT, LARGEST_LIMIT = 100, 10_000
_PAGE = ("limit", "from", "after", "before")


class PageRequest(NamedTuple):
    """One of `first` (skip so many), `after` and `before` says where it is: it begins after, or ends before."""

    limit: int = DEFAULT_LIMIT
    first: int = 0
    after: str | None = None
    before: str | None = None


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


def read_request(search: Search, raw: Any) -> SearchRequest:
    """Raises `InputError` with what is wrong."""
    if not isinstance(raw, dict):
        raise InputError(["The body is an object with filter, sort and page"])
    unknown = [f"Request property [{name}] cannot be parsed" for name in raw if name not in ("filter", "sort", "page")]
    if unknown:
        raise InputError(unknown)
    filters = {} if raw.get("filter") is None else raw["filter"]
    if not isinstance(filters, dict):
        raise InputError(["filter is an object of fields"])
    group = _read_group(search, {name: value for name, value in filters.items() if name != OR}, "filter")
    either = [] if filters.get(OR) is None else filters[OR]
    if not isinstance(either, list) or len(either) > MOST_ALTERNATIVES:
        raise InputError([f"filter.{OR} is a list of at most {MOST_ALTERNATIVES} filters"])
    return SearchRequest(
        group,
        [_read_group(search, alternative, f"filter.{OR}") for alternative in either],
        _read_sort(search, [] if raw.get("sort") is None else raw["sort"]),
        _read_page(raw.get("page")),
    )


def _read_group(search: Search, raw: Mapping[str, Any], where: str) -> ConditionGroup:
    if not isinstance(raw, dict):
        raise InputError([f"{where} is an object of fields"])
    readers = search.row_filters
    tests = [readers[name](value) for name, value in raw.items() if name in readers and value is not None]
    others = {name: value for name, value in raw.items() if name not in readers}
    return ConditionGroup(read_conditions(others, search.filter_fields, where), tests)


def _read_sort(search: Search, raw: Any) -> list[SortKey]:
    if not isinstance(raw, list) or not all(isinstance(part, dict) for part in raw):
        raise InputError(["sort is a list of objects with a field and an order"])
    found = []
    for part in raw:
        unknown = [name for name in part if name not in ("field", "order")]
        if unknown:
            raise InputError([f"Request property [sort.{name}] cannot be parsed" for name in unknown])
        name, order = part.get("field"), "ASC" if part.get("order") is None else part["order"]
        field = search.sort_fields.get(name) if isinstance(name, str) else None
        if field is None:
            raise InputError([f"sort.field: {name!r:.60} is none of {', '.join(search.sort_fields)}"])
        if not isinstance(order, str) or order.upper() not in ("ASC", "DESC"):
            raise InputError([f"sort.order: {order!r:.60} is none of ASC, DESC"])
        found.append(SortKey(field, order.upper() == "DESC"))
    return found


def _read_page(raw: Any) -> PageRequest:
    if raw is None:
        return PageRequest()
    if not isinstance(raw, dict):
        raise InputError(["page is an object with a limit, and from, after or before"])
    given = {name: value for name, value in raw.items() if value is not None}
    problems = [f"Request property [page.{name}] cannot be parsed" for name in given if name not in _PAGE]
    for name, least in (("limit", 1), ("from", 0)):
        value = given.get(name, least)
        if type(value) is not int or not least <= value <= LARGEST_LIMIT:
            bounds = f"a whole number from {least} to {LARGEST_LIMIT}"
            problems.append(f"The value for page.{name} is {value!r:.40} but must be {bounds}")
    problems += [f"page.{name} is a text" for name in ("after", "before") if not isinstance(given.get(name, ""), str)]
    if sum(name in given for name in _PAGE[1:]) > 1:
        problems.append("page.from, page.after and page.before exclude each other")
    if problems:
        raise InputError(problems)
    limit = given.get("limit", DEFAULT_LIMIT)
    return PageRequest(limit, given.get("from", 0), given.get("after") or None, given.get("before") or None)
