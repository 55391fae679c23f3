"""One message with its timeline, its verdict and its closest matches; and the search of whatever was typed."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from starlette.responses import Response

from conjoin.console.filters import address, microseconds
from conjoin.console.fixes import again, with_fixes
from conjoin.console.page_request import Visit
from conjoin.gateway.http.reading import key_in
from conjoin.gateway.queries import store as queries

_A_LOOK_S = 0.05
_OUTCOMES = {"taken": "Taken", "started": "Started an instance", "on_its_way": "On its way", "given_back": "Given back"}


class TimelineEntry(NamedTuple):
    """`kind` is its colour; `is_ahead`: it has not come yet."""

    at: str
    title: str
    kind: str
    process: str = ""
    instance: str = ""
    element: str = ""
    why: str = ""
    is_ahead: bool = False


async def one_message(visit: Visit) -> Response:
    found = await visit.ask(queries.explained, key_in(visit.request, "key"))
    now = visit.service.broker.now
    return await visit.show(
        "message.html",
        it=found,
        message=found["message"],
        # What never comes is last.
        moments=sorted(moments(found, now), key=lambda it: (microseconds(it.at) is None, microseconds(it.at) or 0)),
        misses=with_fixes(found["message"], found["near_misses"]),
        near_now=with_fixes(found["message"], (found["near_now"] or {"near_misses": []})["near_misses"]),
        again=again(found["message"]),
    )


def moments(found: Mapping[str, Any], now: int) -> Iterator[TimelineEntry]:
    message = found["message"]
    yield TimelineEntry(message["published_at"], "Published", "published")
    for attempt in found["attempts"]:
        kind = "failed" if attempt["outcome"] == "given_back" else "correlated"
        where = (attempt.get("process", ""), attempt.get("instance", ""), attempt.get("element", ""))
        yield TimelineEntry(attempt["offered_at"], _OUTCOMES[attempt["outcome"]], kind, *where, attempt.get("why", ""))
    if found["verdict"] not in ("correlated", "expired"):
        yield TimelineEntry(found["decided_at"], found["verdict"].capitalize(), found["verdict"])
    deadline = microseconds(message["deadline_at"])
    if message["deadline_at"] != message["published_at"] and found["storage"] in ("buffered", "expired"):
        is_ahead = deadline is None or deadline > now
        yield TimelineEntry(message["deadline_at"], "Expires" if is_ahead else "Expired", "expired", is_ahead=is_ahead)


async def find(visit: Visit) -> Response:
    """Whatever was typed: the key of a message or an instance, or a word of a message."""
    text = visit.request.query_params.get("q", "").strip()
    if text.isascii() and text.isdigit() and len(text) < 19:
        what = await visit.ask(queries.what_has_key, int(text))
        if what:
            return visit.go(f"/console/{what}s/{text}")
    for field in ("key", "name", "id"):
        wanted_one = queries.Wanted({field: text}, limit=1, within_s=_A_LOOK_S)
        page = await visit.ask(queries.page, "messages", wanted_one) if text else {}
        if page.get("items"):
            return visit.go(address("/console/messages", {field: text}))
    return visit.go(address("/console/messages", {"key": text}))
