"""Searches: what a server has, page by page, handed out item by item while the caller asks for more.

Those of `/v2` take its filters by name (`processDefinitionId`, `state`, `tenantId`, ...), those of `/conjoin/v1` the
parameters of its lists (`name`, `key`, `since`, `order`, ...). An empty filter is left out.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from conjoin.client import values
from conjoin.client.exchange import Exchange, Found, HandOut, HttpRequest, Patience, called

A_PAGE = 200
_A = TypeVar("_A")


def messages(patience: Patience, /, **filters: Any) -> Found[values.FoundMessage]:
    """By `name`, `key`, `id`, `verdict`, `reason`, `tenant`, `since`, `order` and the other filters of the list."""
    return _listed(patience, "messages", filters, values.FoundMessage)


def inbox(patience: Patience, /, **filters: Any) -> Found[dict[str, Any]]:
    """Messages of the inbox, as `GET /conjoin/v1/inbox` answers: by `state`, `channel`, `type`, `text` and others."""
    return _listed(patience, "inbox", filters, dict[str, Any])


def set_aside(patience: Patience, /, **filters: Any) -> Found[dict[str, Any]]:
    """What could not be carried out, as `GET /conjoin/v1/set-aside` answers: by `kind`, `state` and `instance`."""
    return _listed(patience, "set-aside", filters, dict[str, Any])


def instances(patience: Patience, /, **filters: Any) -> Found[values.FoundInstance]:
    """By `processDefinitionId`, `state`, `hasIncident`, `tenantId` and the other filters of `/v2`."""
    return _searched(patience, "process-instances", filters, values.FoundInstance)


def incidents(patience: Patience, /, **filters: Any) -> Found[values.ProcessIncident]:
    """Those that are open: by `processInstanceKey`, `errorType` and the other filters of `/v2`."""
    return _searched(patience, "incidents", filters, values.ProcessIncident)


def jobs(patience: Patience, /, **filters: Any) -> Found[values.FoundJob]:
    """Those that are open: by `type`, `state`, `worker` and the other filters of `/v2`."""
    return _searched(patience, "jobs", filters, values.FoundJob)


def user_tasks(patience: Patience, /, **filters: Any) -> Found[values.FoundUserTask]:
    """Those that are open: by `assignee`, `candidateGroup` and the other filters of `/v2`."""
    return _searched(patience, "user-tasks", filters, values.FoundUserTask)


def element_instances(patience: Patience, /, **filters: Any) -> Found[values.FoundElement]:
    """By `processInstanceKey`, `elementId`, `state` and the other filters of `/v2`."""
    return _searched(patience, "element-instances", filters, values.FoundElement)


def processes(patience: Patience, /, **filters: Any) -> Found[values.FoundProcess]:
    """Every version that was deployed: by `processDefinitionId`, `isLatestVersion` and the other filters of `/v2`."""
    return _searched(patience, "process-definitions", filters, values.FoundProcess)


def variables(patience: Patience, instance_key: int) -> Exchange[dict[str, Any]]:
    """Those of the instance itself, not of the scopes in it."""
    filters = {"processInstanceKey": str(instance_key), "scopeKey": str(instance_key)}
    found: dict[str, Any] = {}
    after = ""
    while True:
        items, after = yield from _page(patience, "variables", filters, after)
        found |= {item["name"]: msgspec.json.decode(item["value"]) for item in items}
        if not after:
            return found


def _listed(patience: Patience, what: str, filters: Mapping[str, Any], kind: type[_A]) -> Found[_A]:
    query = {name: str(value) for name, value in _given(filters).items()} | {"limit": str(A_PAGE)}
    while True:
        page = yield from called(patience, HttpRequest(f"list {what}", "GET", f"/conjoin/v1/{what}", query=query))
        yield HandOut(msgspec.convert(page["items"], list[kind], strict=False))  # type: ignore[valid-type]
        if page["cursor"] is None:
            return
        query = query | {"cursor": page["cursor"]}


def _searched(patience: Patience, what: str, filters: Mapping[str, Any], kind: type[_A]) -> Found[_A]:
    after = ""
    while True:
        items, after = yield from _page(patience, what, filters, after)
        yield HandOut(msgspec.convert(items, list[kind], strict=False))  # type: ignore[valid-type]
        if not after:
            return


def _page(patience: Patience, what: str, filters: Mapping[str, Any], after: str) -> Exchange[tuple[list[Any], str]]:
    """Its items, and where to go on; nowhere after the last one."""
    body = {"filter": _given(filters), "page": {"limit": A_PAGE, "after": after or None}}
    whole = {"truncateValues": "false"} if what == "variables" else {}
    request = HttpRequest(f"search {what}", "POST", f"/v2/{what}/search", query=whole)
    found = yield from called(patience, request, body)
    return found["items"], found["page"]["endCursor"] or ""


def _given(filters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in filters.items() if value not in (None, "")}
