"""What schemathesis cannot know: cursors come from pages, 3.0 is no whole number here, how lines are sent, and that
whoever is willing to wait for ever is not answered before.
"""

from typing import Any

import schemathesis

_CURSORS = ("after", "before")
_LONGEST_WAIT_MS = 500


@schemathesis.hook
def filter_body(context: Any, body: Any) -> bool:
    page = body.get("page") if isinstance(body, dict) else None
    return not isinstance(page, dict) or not any(isinstance(page.get(name), str) for name in _CURSORS)


@schemathesis.hook
def filter_query(context: Any, query: Any) -> bool:
    return not isinstance(query, dict) or not query.get("cursor")


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    return _with_whole_numbers(body)


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_whole_numbers(it) for name, it in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(it) for it in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    wait_ms = case.body.get("requestTimeout") if isinstance(case.body, dict) else None
    if type(wait_ms) is int and _LONGEST_WAIT_MS < wait_ms < 2**63:
        case.body = {**case.body, "requestTimeout": _LONGEST_WAIT_MS}


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
