"""What if I sent this? A form for a message, what would become of it (a dry run), and then sending it."""

from typing import Any

from starlette.responses import Response

from conjoin.console.filters import pretty
from conjoin.console.fixes import with_fixes
from conjoin.console.page_request import Visit
from conjoin.gateway.http.messages import new_message
from conjoin.gateway.http.problems import HttpProblem, accepted, invalid
from conjoin.gateway.http.reading import key_of
from conjoin.gateway.queries import store as queries
from conjoin.gateway.service import Calls

FIELDS = ("name", "key", "variables", "ttl", "id", "business_id", "tenant")


async def form(visit: Visit) -> Response:
    """It may come filled, from a near miss; then the dry run is there at once."""
    given = visit.request.query_params
    said = {name: given.get(name, "") for name in FIELDS}
    like = given.get("like", "")
    if like:
        message = (await visit.ask(queries.explained, key_of("like", like)))["message"]
        said["variables"] = said["variables"] or pretty(message["variables"])
    return await _shown(visit, said, is_filled=bool(said["name"]))


async def rehearse(visit: Visit) -> Response:
    return await _shown(visit, _said(visit), is_filled=True)


async def send(visit: Visit) -> Response:
    said = _said(visit)
    try:
        message = new_message(_given(said))
        with visit.console.gateway.metrics.publishing("console") as outcome:
            key = accepted(outcome.noted(await visit.service.call(Calls.publish, message))).key
    except HttpProblem as problem:
        return visit.show("send.html", problem.status, message=said, problem=problem.detail, outcome=None)
    return visit.go(f"/console/messages/{key}", "Sent. This is what became of it.")


def _said(visit: Visit) -> dict[str, str]:
    return {name: visit.field(name) for name in FIELDS}


def _given(said: dict[str, str]) -> dict[str, Any]:
    if queries.has_hidden(said["variables"]):
        raise invalid("variables: enter the real value instead of the hidden one")
    return {name: value for name, value in said.items() if value.strip() or (name == "key" and value)}


async def _shown(visit: Visit, said: dict[str, str], is_filled: bool) -> Response:
    if not is_filled:
        return visit.show("send.html", message=said, problem="", outcome=None)
    try:
        outcome = accepted(await visit.service.rehearse(new_message(_given(said)))).dry_run.as_json()
    except HttpProblem as problem:
        return visit.show("send.html", message=said, problem=problem.detail, outcome=None)
    misses = with_fixes({**outcome["message"], "key": ""}, outcome["near_misses"])
    return visit.show("send.html", message=said, problem="", outcome=outcome, misses=misses)
