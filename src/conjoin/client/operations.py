"""What an operator does beside messages and processes: the inbox, what was set aside, policies; and any other endpoint.

Answers are the objects of `/conjoin/v1` and `/v2` as docs/rest.md and `/openapi.json` describe them.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from conjoin.client.exchange import Exchange, HttpRequest, Patience, answered, asked, body_of, encoded, json_of, never

_INBOX = "/conjoin/v1/inbox/messages"


def topology(patience: Patience) -> Exchange[dict[str, Any]]:
    return answered(patience, "get the topology", "GET", "/v2/topology")


def inbox_message(patience: Patience, key: int) -> Exchange[dict[str, Any]]:
    """One message of the inbox with its history."""
    return answered(patience, f"show inbox message {key}", "GET", f"{_INBOX}/{key}")


def operate_on_inbox_message(patience: Patience, key: int, operation: str) -> Exchange[dict[str, Any]]:
    """`operation` is pause, resume, retry, release or delete; the answer is its state afterwards."""
    asks, path = f"{operation} inbox message {key}", f"{_INBOX}/{key}"
    if operation == "delete":
        return answered(patience, asks, "DELETE", path)
    return answered(patience, asks, "POST", f"{path}/{operation}")


def operate_on_inbox(
    patience: Patience, operation: str, filters: Mapping[str, str], dry_run: bool = True
) -> Exchange[dict[str, Any]]:
    """The same for a whole selection; by default it is only counted."""
    body = {"operation": operation, "filters": dict(filters), "dry_run": dry_run}
    return answered(patience, f"{operation} inbox messages", "POST", f"{_INBOX}/operations", body)


def policies(patience: Patience) -> Exchange[dict[str, Any]]:
    return answered(patience, "list policies", "GET", "/conjoin/v1/policies")


def set_policy(patience: Patience, name: str, policy: Mapping[str, str | int | bool]) -> Exchange[dict[str, Any]]:
    """All that is set for this message name (`*` for all); the profile decides what is not named."""
    path = f"/conjoin/v1/policies/{quote(name, safe='')}"
    return answered(patience, f"set the policy of {name!r}", "PUT", path, dict(policy))


def retry_set_aside(patience: Patience, key: int) -> Exchange[None]:
    return answered(patience, f"retry {key}", "POST", f"/conjoin/v1/set-aside/{key}/retry")


def delete_set_aside(patience: Patience, key: int) -> Exchange[None]:
    return answered(patience, f"delete {key}", "DELETE", f"/conjoin/v1/set-aside/{key}")


def request(
    patience: Patience, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None
) -> Exchange[Any]:
    """Any endpoint that has no method here: the JSON it answers. Only a GET is repeated if the server may have it."""
    content = None if body is None else encoded(body)
    asks = HttpRequest(f"{method} {path}", method, path, content, query=query or {})
    if method == "GET":
        return (yield from answered(patience, asks.asked, method, path, body, **asks.query))
    return json_of(body_of((yield from asked(asks, patience, never)), asks))
