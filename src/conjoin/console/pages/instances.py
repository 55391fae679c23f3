"""One instance with its diagram, tokens, variables, waits and incidents, and what can be done to it."""

from collections import Counter
from typing import Any

from starlette.responses import Response

from conjoin.console.page_request import Visit
from conjoin.gateway.http.problems import HttpProblem, invalid
from conjoin.gateway.http.reading import decoded, decoder, key_in, key_of
from conjoin.gateway.queries import instance as instance_queries
from conjoin.gateway.queries import store as queries
from conjoin.gateway.service import Calls

_OBJECT = decoder(dict[str, Any])
_FIRST_LOOK_S = 0.08
PATIENCE_S = {"more": 2.0, "most": 10.0}
"""How long the log is read for the history of an instance, on request longer."""
_MORE = {"": "more", "more": "most", "most": "most"}


async def one_instance(visit: Visit) -> Response:
    key = key_in(visit.request, "key")
    it = await visit.ask(instance_queries.instance, key)
    active = [element for element in it["elements"] if not element["is_root"]]
    model = await visit.ask(queries.model_facts, int(it["definition_key"]))
    patience = visit.request.query_params.get("patience", "")
    return await visit.show(
        "instance.html",
        it=it,
        model=model,
        tokens={
            "here": Counter(element["element_id"] for element in active),
            "troubled": Counter(element["element_id"] for element in active if element["incident_key"]),
        },
        inside=await visit.ask(instance_queries.inside, key),
        history=await visit.ask(instance_queries.history, key, PATIENCE_S.get(patience, _FIRST_LOOK_S)),
        patience=_MORE.get(patience, ""),
    )


async def cancel(visit: Visit) -> Response:
    key = key_in(visit.request, "key")
    return _back(visit, key, await visit.service.call(Calls.cancel_instance, key), "The instance is cancelled.")


async def set_variables(visit: Visit) -> Response:
    key = key_in(visit.request, "key")
    outcome = await visit.service.call(Calls.set_variables, key, _variables(visit))
    return _back(visit, key, outcome, "The variables are set.")


async def resolve(visit: Visit) -> Response:
    """With what was missing: variables, and for a job that was given up another attempt."""
    incident, instance = key_in(visit.request, "incident"), key_in(visit.request, "key")
    variables, job = _variables(visit), visit.field("job")
    outcome: object = await visit.service.call(Calls.set_variables, instance, variables) if variables else None
    if job and queries.why_not(outcome) is None:
        outcome = await visit.service.call(Calls.update_retries, key_of("job", job), 1)
    if queries.why_not(outcome) is None:
        outcome = await visit.service.call(Calls.resolve_incident, incident)
    return _back(visit, instance, outcome, "The incident is resolved.")


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
