"""How this server is: its shards, sweeps and background jobs, notices, and what was set aside, to be retried."""

from starlette.responses import Response

from conjoin.console.page_request import Visit
from conjoin.gateway.http.reading import key_in
from conjoin.gateway.queries import store as queries

_WAITING = queries.Wanted({"state": "waiting"})


async def server(visit: Visit) -> Response:
    supervisor = visit.service.broker.supervisor
    return await visit.show(
        "server.html",
        jobs=sorted(supervisor.report(), key=lambda it: (it.state == "ok", not it.critical, it.name)),
        notices=supervisor.refused_notices,
        aside=await visit.ask(queries.page, "set-aside", _WAITING),
    )


async def retry(visit: Visit) -> Response:
    key = key_in(visit.request, "key")
    outcome = await visit.service.carry_out(visit.service.broker.retry_set_aside, key)
    return visit.outcome("/console/server", queries.why_not(outcome), "It was carried out.")


async def delete(visit: Visit) -> Response:
    key = key_in(visit.request, "key")
    outcome = await visit.service.carry_out(visit.service.broker.delete_set_aside, key)
    return visit.outcome("/console/server", queries.why_not(outcome), "It is deleted, and will not be carried out.")
