"""Schemas of searches for the OpenAPI document, made of the same tables that the searches work with."""

from collections.abc import Mapping
from typing import Any

from conjoin.gateway.search.fields import Field
from conjoin.gateway.search.filters import OR
from conjoin.gateway.search.paging import LARGEST_LIMIT
from conjoin.gateway.search.search import Search

Schema = Mapping[str, Any]


def item_schema(what: Search) -> Schema:
    shown = {it.name: it.schema for it in what.fields if it.is_shown}
    return {"type": "object", "required": list(shown), "properties": shown}


def page_schema(what: Search) -> Schema:
    cursor = {"type": ["string", "null"]}
    page: dict[str, Any] = {"totalItems": {"type": "integer"}, "hasMoreTotalItems": {"type": "boolean"}}
    page |= {"startCursor": cursor, "endCursor": cursor}
    pages = {"type": "object", "required": list(page), "properties": page}
    items = {"type": "array", "items": item_schema(what)}
    return {"type": "object", "required": ["items", "page"], "properties": {"items": items, "page": pages}}


def query_schema(what: Search) -> Schema:
    filters: dict[str, Any] = {name: _filter_schema(it) for name, it in what.filter_fields.items()}
    filters |= {name: {} for name in what.row_filters}
    filters[OR] = {"type": "array", "items": _closed(filters)}
    order = {"type": "string", "enum": ["ASC", "DESC"]}
    field = {"type": "string", "enum": list(what.sort_fields)}
    sort = _closed({"field": field, "order": order}) | {"required": ["field"]}
    page = {
        "limit": {"type": "integer", "minimum": 1, "maximum": LARGEST_LIMIT},
        "from": {"type": "integer", "minimum": 0, "maximum": LARGEST_LIMIT},
        **{name: {"type": "string"} for name in ("after", "before")},
    }
    return _closed({"filter": _closed(filters), "sort": {"type": "array", "items": sort}, "page": _closed(page)})


def _filter_schema(it: Field) -> Schema:
    """A value, or an object of operators."""
    value = it.kind.schema
    of = {operator: {"type": "array", "items": value} for operator in ("$in", "$notIn")}
    of |= {"$exists": {"type": "boolean"}, "$like": {"type": "string"}}
    return {"anyOf": [value, _closed({name: of.get(name, value) for name in it.kind.operators})]}


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}
