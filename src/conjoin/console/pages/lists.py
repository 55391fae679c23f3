"""The pages of lists: their filters, time and cursor are in the query of the address. Other names are left alone."""

from typing import Any

from starlette.responses import Response

from conjoin.console.page_request import Page, Visit
from conjoin.gateway.queries import store as queries
from conjoin.gateway.queries.store import LISTING, Wanted

WITHIN = {"15m": ("15 minutes", 900), "1h": ("hour", 3_600), "24h": ("day", 86_400), "7d": ("week", 604_800)}
"""How long ago at most."""
PAGE = 50


def list_page(what: str) -> Page:
    async def page(visit: Visit) -> Response:
        return await visit.show(f"{what}.html", **await list_values(visit, what))

    return page


async def list_values(visit: Visit, what: str) -> dict[str, Any]:
    """What the template of a list is given."""
    given = visit.request.query_params
    wanted = filtered(visit, what, dict(given))._replace(cursor=given.get("cursor") or None)
    page = await visit.ask(queries.page, what, wanted)
    return {**page, "page": page, "filters": wanted.filters, "choices": LISTING[what].choices, "within": WITHIN}


def filtered(visit: Visit, what: str, given: dict[str, str]) -> Wanted:
    filters = {name: given[name] for name in LISTING[what].filters if given.get(name)}
    _, seconds = WITHIN.get(given.get("within", ""), ("", 0))
    return Wanted(filters, visit.service.broker.now - seconds * 1_000_000 if seconds else None, None, PAGE)
