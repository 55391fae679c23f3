"""Incidents: all that are open, each with its age; and resolving many, which is counted first.

That an incident is resolved is only said when it is: where the cause is still there, another follows at once.
"""

from typing import Any

from starlette.responses import Response

from conjoin.console.filters import address, amount, cut
from conjoin.console.page_request import Visit
from conjoin.console.pages.lists import filtered, list_values, matching, nothing_selected, selection
from conjoin.console.wording import in_words
from conjoin.gateway.queries import incidents as incident_queries
from conjoin.gateway.queries import store as queries
from conjoin.gateway.queries.incidents import MOST_AT_ONCE
from conjoin.gateway.service import Calls


async def incident_list(visit: Visit) -> Response:
    values = await list_values(visit, "incidents", incident_queries.incident_page, visit.console.times)
    return await visit.show("incidents.html", **values, total=await matching(visit, "incidents"))


async def rehearse(visit: Visit) -> Response:
    """How many, and of which kinds; and the form that does it."""
    rows, filters = await _chosen(visit)
    if not visit.field("all") and not visit.form.get("selected"):
        return nothing_selected(visit, "/console/incidents", filters)
    kinds: dict[str, int] = {}
    for row in rows:
        kinds[in_words(row.error_type)] = kinds.get(in_words(row.error_type), 0) + 1
    return await visit.show(
        "incident_selection.html",
        keys=[str(row.key) for row in rows],
        kinds=kinds,
        jobs=sum(bool(row.job_key) for row in rows),
        filters=filters,
        is_cut=len(rows) >= MOST_AT_ONCE,
    )


async def resolve_many(visit: Visit) -> Response:
    """One after the other: one that cannot be resolved holds up no other."""
    rows, filters = await _chosen(visit)
    refused: list[str] = []
    resolved: list[Any] = []
    for row in rows:
        why = queries.why_not(await resolved_one(visit, row.key, row.job_key))
        if why is None:
            resolved.append(row)
        else:
            refused.append(why)
    again = list((await visit.ask(incident_queries.raised_again, resolved)).values())
    back = address("/console/incidents", filters)
    done = f"{amount(len(resolved) - len(again))} of {amount(len(rows))} incidents resolved."
    parts = [f" {amount(len(again))} failed again: {cut(again[0], 300)}"] if again else []
    parts += [f" {amount(len(refused))} refused: {cut(refused[0], 300)}"] if refused else []
    return visit.go(back, "".join([done, *parts]), "bad" if parts else "good")


async def resolved_one(visit: Visit, incident: int, job: int) -> object:
    """A job that was given up gets another attempt before."""
    if job:
        outcome: object = await visit.service.call(Calls.update_retries, job, 1)
        if queries.why_not(outcome) is not None:
            return outcome
    return await visit.service.call(Calls.resolve_incident, incident)


async def _chosen(visit: Visit) -> tuple[list[Any], dict[str, str]]:
    keys, filters = selection(visit)
    if keys is None:
        keys = await visit.ask(incident_queries.incidents_wanted, filtered(visit, "incidents", filters))
    return await visit.ask(incident_queries.incident_rows, keys[:MOST_AT_ONCE]), filters
