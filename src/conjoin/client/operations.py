"""What an operator does beside messages and processes: the inbox, what was set aside, policies; and any other endpoint.

Answers are the objects of `/conjoin/v1` and `/v2` as docs/rest.md and `/openapi.json` describe them.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from conjoin.client.exchange import Exchange, HttpRequest, Patience, always, called, never

_INBOX = "/conjoin/v1/inbox/messages"


def topology(patience: Patience) -> Exchange[dict[str, Any]]:
    return called(patience, HttpRequest("get the topology", "GET", "/v2/topology"))


def receive(
    patience: Patience, channel: str, lines: Sequence[bytes], source: str = "", first: int = 1
) -> Exchange[dict[str, int]]:
    """Lines into a channel of the inbox; the answer counts them. The lines of a named source are received once each,
    by their numbers, so that only those are sent again when the server may have them.
    """
    request = HttpRequest(
        *(f"receive {len(lines)} lines into {channel!r}", "POST", f"/conjoin/v1/inbox/{quote(channel, safe='')}"),
        b"\n".join(lines),
        "application/x-ndjson",
        {"source": source, "first": str(first)} if source else {},
        later_s=len(lines) / 100,
    )
    return called(patience, request, may_repeat=always if source else never)


def inbox_message(patience: Patience, key: int) -> Exchange[dict[str, Any]]:
    """One message of the inbox with its history."""
    return called(patience, HttpRequest(f"show inbox message {key}", "GET", f"{_INBOX}/{key}"))


def operate_on_inbox_message(patience: Patience, key: int, operation: str) -> Exchange[dict[str, Any]]:
    """`operation` is pause, resume, retry, release or delete; the answer is its state afterwards."""
    how = ("DELETE", f"{_INBOX}/{key}") if operation == "delete" else ("POST", f"{_INBOX}/{key}/{operation}")
    return called(patience, HttpRequest(f"{operation} inbox message {key}", *how))


def operate_on_inbox(
    patience: Patience, operation: str, filters: Mapping[str, str], dry_run: bool = True
) -> Exchange[dict[str, Any]]:
    """The same for a whole selection; by default it is only counted."""
    body = {"operation": operation, "filters": dict(filters), "dry_run": dry_run}
    return called(patience, HttpRequest(f"{operation} inbox messages", "POST", f"{_INBOX}/operations"), body)


def policies(patience: Patience) -> Exchange[dict[str, Any]]:
    return called(patience, HttpRequest("list policies", "GET", "/conjoin/v1/policies"))


def set_policy(patience: Patience, name: str, policy: Mapping[str, str | int | bool]) -> Exchange[dict[str, Any]]:
    """All that is set for this message name (`*` for all); the profile decides what is not named."""
    path = f"/conjoin/v1/policies/{quote(name, safe='')}"
    return called(patience, HttpRequest(f"set the policy of {name!r}", "PUT", path), dict(policy))


def retry_set_aside(patience: Patience, key: int) -> Exchange[None]:
    return called(patience, HttpRequest(f"retry {key}", "POST", f"/conjoin/v1/set-aside/{key}/retry"))


def delete_set_aside(patience: Patience, key: int) -> Exchange[None]:
    return called(patience, HttpRequest(f"delete {key}", "DELETE", f"/conjoin/v1/set-aside/{key}"))


def request(
    patience: Patience, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None
) -> Exchange[Any]:
    """Any endpoint that has no method here: the JSON it answers. Only a GET is repeated if the server may have it."""
    what = HttpRequest(f"{method} {path}", method, path, query=query or {})
    return called(patience, what, body, always if method == "GET" else never)
