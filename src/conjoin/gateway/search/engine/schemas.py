"""Schemas of searches for the OpenAPI document, made of the same tables that the searches work with."""

from collections.abc import Mapping
from typing import Any

from conjoin.gateway.http.schemas import COUNT, NULL, Schema, array, closed, nullable, whole
from conjoin.gateway.http.schemas import FLAG as YES_OR_NO
from conjoin.gateway.search.engine.fields import FLAG, INSTANT, KEY, NUMBER, TEXT, Field, FieldKind
from conjoin.gateway.search.engine.filters import LONGEST_PATTERN, MOST_VALUES, MOST_WILDCARDS, OR
from conjoin.gateway.search.engine.request import LARGEST_LIMIT, MOST_ALTERNATIVES
from conjoin.gateway.search.engine.search import Search

_SHARED = {kind.name: f"{kind.name.capitalize()}Filter" for kind in (TEXT, KEY, NUMBER, INSTANT, FLAG)}
_LIKE: Schema = {
    "type": "string",
    "maxLength": LONGEST_PATTERN,
    "pattern": rf"^[^\u0000*]*(\*[^\u0000*]*){{0,{MOST_WILDCARDS}}}$",
}


def item_schema(what: Search) -> Schema:
    return whole({it.name: it.schema for it in what.fields if it.is_shown})


def page_schema(what: Search) -> Schema:
    cursor = {"type": ["string", "null"]}
    counted = {"totalItems": COUNT, "hasMoreTotalItems": YES_OR_NO}
    return whole(
        {"items": array(item_schema(what)), "page": whole({**counted, "startCursor": cursor, "endCursor": cursor})}
    )


def query_schema(what: Search) -> Schema:
    """Everywhere null is the same as leaving it out."""
    alone: dict[str, Any] = {name: filter_schema(it) for name, it in what.filter_fields.items()}
    alone |= {name: nullable(what.row_filter_schemas[name]) for name in what.row_filters}
    either = nullable({"type": "array", "maxItems": MOST_ALTERNATIVES, "items": closed(alone)})
    order = nullable({"type": "string", "pattern": "^([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc])$"})
    field = {"type": "string", "enum": list(what.sort_fields)}
    sort = closed({"field": field, "order": order}, ["field"])
    filters = nullable(closed(alone | {OR: either}))
    sorts = nullable(array(sort))
    return closed({"filter": filters, "sort": sorts, "page": nullable(_page_schema())})


def _page_schema() -> Schema:
    limit = {"type": "integer", "minimum": 1, "maximum": LARGEST_LIMIT}
    begins: Schema = {"type": "integer", "minimum": 0, "maximum": LARGEST_LIMIT}
    cursor: Schema = {"type": "string", "description": "As a page of the same search in the same order gave it"}
    bounds = {"from": begins, "after": cursor, "before": cursor}
    # At most one of them says where the page is.
    return {
        "anyOf": [
            closed({"limit": nullable(limit), **dict.fromkeys(bounds, NULL), bound: nullable(schema)})
            for bound, schema in bounds.items()
        ]
    }


def filter_schema(it: Field) -> Schema:
    return {"$ref": f"#/components/schemas/{_SHARED[it.kind.name]}"} if it.kind.name in _SHARED else _filter(it.kind)


def _filter(kind: FieldKind) -> Schema:
    """A value, or an object of operators."""
    value = kind.schema
    of: dict[str, Schema] = {
        operator: {"type": "array", "maxItems": MOST_VALUES, "items": value} for operator in ("$in", "$notIn")
    }
    of |= {"$exists": YES_OR_NO, "$like": _LIKE}
    return {"anyOf": [value, closed({name: nullable(of.get(name, value)) for name in kind.operators}), NULL]}


SHARED: Mapping[str, Schema] = {_SHARED[kind.name]: _filter(kind) for kind in (TEXT, KEY, NUMBER, INSTANT, FLAG)}
"""Filters that most searches have, once for all of them."""
