"""Test a message: a form for it, what would become of it (a dry run), and then sending it."""

from typing import Any

from starlette.responses import Response

from conjoin.console.filters import pretty
from conjoin.console.fixes import with_fixes
from conjoin.console.page_request import Visit
from conjoin.gateway.http.problems import HttpProblem, accepted, invalid
from conjoin.gateway.http.reading import key_of, new_message
from conjoin.gateway.queries import store as queries
from conjoin.gateway.service import Calls

FIELDS = ("name", "key", "variables", "ttl", "id", "business_id", "tenant")


async def form(visit: Visit) -> Response:
    """It may come filled, from a near miss; then the dry run is there at once."""
    given = visit.request.query_params
    fields = {name: given.get(name, "") for name in FIELDS}
    like = given.get("like", "")
    fields["replaces"] = given.get("replaces", "")
    if like:
        found = await visit.ask(queries.explained, key_of("like", like))
        message = found["message"]
        fields["variables"] = fields["variables"] or pretty(message["variables"])
        if found["verdict"] in queries.LOST and fields["tenant"] in ("", message["tenant_id"]):
            fields["replaces"] = like
    return await _shown(visit, fields, is_filled=bool(fields["name"]))


async def rehearse(visit: Visit) -> Response:
    return await _shown(visit, _typed(visit), is_filled=True)


async def send(visit: Visit) -> Response:
    fields = _typed(visit)
    replaced = key_of("replaces", fields["replaces"]) if fields["replaces"] else None
    try:
        message = new_message(given_fields(fields))
        if replaced is not None:
            refused = await visit.service.unreplaceable(replaced, message.tenant_id)
            if refused is not None:
                accepted(refused)
        with visit.console.gateway.metrics.publishing("console") as outcome:
            key = accepted(outcome.noted(await visit.service.call(Calls.publish, message))).key
    except HttpProblem as problem:
        return await visit.show("send.html", problem.status, message=fields, problem=problem.detail, outcome=None)
    if replaced is not None:
        await visit.service.note_replaced(replaced, key, message)
    return visit.go(f"/console/messages/{key}", "Sent. This is what became of it.")


def _typed(visit: Visit) -> dict[str, str]:
    return {name: visit.field(name) for name in (*FIELDS, "replaces")}


def given_fields(fields: dict[str, str]) -> dict[str, Any]:
    if queries.has_hidden(fields["variables"]):
        raise invalid("variables: enter the real value instead of the hidden one")
    return {name: value for name in FIELDS if (value := fields[name]).strip() or (name == "key" and value)}


async def _shown(visit: Visit, fields: dict[str, str], is_filled: bool) -> Response:
    if not is_filled:
        return await visit.show("send.html", message=fields, problem="", outcome=None)
    try:
        outcome = accepted(await visit.service.rehearse(new_message(given_fields(fields)))).dry_run.as_json()
    except HttpProblem as problem:
        return await visit.show("send.html", message=fields, problem=problem.detail, outcome=None)
    misses = with_fixes({**outcome["message"], "key": "", "replaces": fields["replaces"]}, outcome["near_misses"])
    return await visit.show("send.html", message=fields, problem="", outcome=outcome, misses=misses)
