"""Searches: what a server has, page by page, handed out item by item while somebody asks for more."""

from collections.abc import Mapping
from typing import Any

import msgspec

from conjoin.client.exchange import Exchange, HandOut, HttpRequest, Patience, done, encoded
from conjoin.client.values import FoundInstance, FoundMessage, ProcessIncident

A_PAGE = 200
Filters = Mapping[str, Any]
"""By name; what is empty is not asked for."""


def messages(filters: Filters, patience: Patience) -> Exchange[None]:
    query = {name: str(value) for name, value in _given(filters).items()} | {"limit": str(A_PAGE)}
    while True:
        request = HttpRequest("list messages", "GET", "/conjoin/v1/messages", query=query)
        page = msgspec.json.decode((yield from done(request, patience)))
        yield HandOut(msgspec.convert(page["items"], list[FoundMessage], strict=False))
        if page["cursor"] is None:
            return
        query["cursor"] = page["cursor"]


def instances(filters: Filters, patience: Patience) -> Exchange[None]:
    yield from _all("process-instances", filters, list[FoundInstance], patience)


def incidents(filters: Filters, patience: Patience) -> Exchange[None]:
    yield from _all("incidents", filters, list[ProcessIncident], patience)


def variables(instance_key: int, patience: Patience) -> Exchange[dict[str, Any]]:
    """Those of the instance itself, not of the scopes in it."""
    filters = {"processInstanceKey": str(instance_key), "scopeKey": str(instance_key)}
    found: dict[str, Any] = {}
    after = ""
    while True:
        items, after = yield from _page("variables", filters, after, patience)
        found |= {item["name"]: msgspec.json.decode(item["value"]) for item in items}
        if not after:
            return found


def _all(what: str, filters: Filters, kind: Any, patience: Patience) -> Exchange[None]:
    after = ""
    while True:
        items, after = yield from _page(what, filters, after, patience)
        yield HandOut(msgspec.convert(items, kind, strict=False))
        if not after:
            return


def _page(what: str, filters: Filters, after: str, patience: Patience) -> Exchange[tuple[list[Any], str]]:
    """Its items, and where to go on; nowhere after the last one."""
    body = encoded({"filter": _given(filters), "page": {"limit": A_PAGE, "after": after or None}})
    whole = {"truncateValues": "false"} if what == "variables" else {}
    request = HttpRequest(f"search {what}", "POST", f"/v2/{what}/search", body, query=whole)
    told = msgspec.json.decode((yield from done(request, patience)))
    return told["items"], told["page"]["endCursor"] or ""


def _given(filters: Filters) -> dict[str, Any]:
    return {name: value for name, value in filters.items() if value not in (None, "")}
