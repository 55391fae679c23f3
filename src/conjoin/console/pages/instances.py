"""One instance with its diagram, tokens, variables, waits and incidents, and what can be done to it.

What was typed into a form stays there when it was refused.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from conjoin.console.page_request import Visit
from conjoin.console.pages.incidents import resolved_one
from conjoin.gateway.http.problems import HttpProblem, invalid
from conjoin.gateway.http.reading import decoded, decoder, key_in, key_of
from conjoin.gateway.queries import incidents as incident_queries
from conjoin.gateway.queries import instance as instance_queries
from conjoin.gateway.queries import store as queries
from conjoin.gateway.service import Calls

_OBJECT = decoder(dict[str, Any])
_FIRST_LOOK_S = 0.08
PATIENCE_S = {"more": 2.0, "most": 10.0}
"""How long the log is read for the history of an instance, on request longer."""
_MORE = {"": "more", "more": "most", "most": "most"}
_NOTHING: Mapping[str, str] = {}


async def one_instance(visit: Visit) -> Response:
    return await _shown(visit)


async def _shown(visit: Visit, problem: str = "", typed: Mapping[str, str] = _NOTHING) -> Response:
    """`typed` are variables that were refused, by the key of their incident, or of the instance."""
    key = key_in(visit.request, "key")
    it = await visit.ask(instance_queries.instance, key)
    active = [element for element in it["elements"] if not element["is_root"]]
    model = await visit.ask(queries.model_facts, int(it["definition_key"]))
    inside = await visit.ask(instance_queries.inside, key)
    patience = visit.request.query_params.get("patience", "")
    return await visit.show(
        "instance.html",
        400 if problem else 200,
        it=it,
        model=model,
        tokens={
            "here": Counter(element["element_id"] for element in active),
            "troubled": Counter(element["element_id"] for element in active if element["incident_key"]),
        },
        inside=inside,
        incidents=await visit.ask(incident_queries.with_since, visit.console.times, inside.incidents),
        history=await visit.ask(instance_queries.history, key, PATIENCE_S.get(patience, _FIRST_LOOK_S)),
        patience=_MORE.get(patience, ""),
        problem=problem,
        typed=typed,
    )


async def cancel(visit: Visit) -> Response:
    key = key_in(visit.request, "key")
    return _back(visit, key, await visit.service.call(Calls.cancel_instance, key), "The instance is cancelled.")


async def set_variables(visit: Visit) -> Response:
    key = key_in(visit.request, "key")
    typed = {str(key): visit.field("variables")}
    try:
        outcome: object = await visit.service.call(Calls.set_variables, key, _variables(visit))
    except HttpProblem as problem:
        return await _shown(visit, problem.detail, typed)
    why = queries.why_not(outcome)
    return _back(visit, key, outcome, "The variables are set.") if why is None else await _shown(visit, why, typed)


async def resolve(visit: Visit) -> Response:
    """With what was missing: variables, and for a job that was given up another attempt."""
    incident, instance = key_in(visit.request, "incident"), key_in(visit.request, "key")
    typed = {str(incident): visit.field("variables")}
    try:
        variables = _variables(visit)
    except HttpProblem as problem:
        return await _shown(visit, problem.detail, typed)
    rows = await visit.ask(incident_queries.incident_rows, [incident])
    job = key_of("job", visit.field("job")) if visit.field("job") else 0
    outcome: object = await visit.service.call(Calls.set_variables, instance, variables) if variables else None
    if queries.why_not(outcome) is None:
        outcome = await resolved_one(visit, incident, job)
    why = queries.why_not(outcome)
    if why is None:
        again = await visit.ask(incident_queries.raised_again, rows)
        why = f"It was tried again, and failed again: {again[incident]}" if incident in again else None
    if why is not None:
        return await _shown(visit, why, {**typed, "": typed[str(incident)]})
    done = "The incident is resolved; the job waits for a worker." if job else "The incident is resolved."
    return _back(visit, instance, None, done)


def _variables(visit: Visit) -> dict[str, Any]:
    text = visit.field("variables").strip()
    if not text:
        return {}
    if visit.service.broker.hiding.is_active and queries.has_hidden(text):
        raise invalid("The variables contain a hidden value: enter the real one")
    try:
        return dict(decoded(_OBJECT, text.encode()))
    except HttpProblem as problem:
        raise invalid(f"The variables are no JSON object: {problem.detail}") from None


def _back(visit: Visit, key: int, outcome: object, done: str) -> Response:
    """To the instance, with what came of it."""
    return visit.outcome(f"/console/instances/{key}", queries.why_not(outcome), done)
