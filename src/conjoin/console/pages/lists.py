"""The pages of lists: their filters, time and cursor are in the query of the address. Other names are left alone.

A form over a list has what was selected on it, or, with `all`, everything that its filters find; nothing selected is
nothing.
"""

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from conjoin.console.filters import address
from conjoin.console.page_request import Page, Visit
from conjoin.gateway.http.reading import key_of
from conjoin.gateway.queries import store as queries
from conjoin.gateway.queries.store import LISTING, Wanted

WITHIN = {"15m": ("15 minutes", 900), "1h": ("hour", 3_600), "24h": ("day", 86_400), "7d": ("week", 604_800)}
"""How long ago at most."""
PAGE = 50


def list_page(what: str) -> Page:
    async def page(visit: Visit) -> Response:
        return await list_answer(visit, what, queries.page, what)

    return page


async def list_answer(visit: Visit, what: str, query: Callable[..., Any], *args: Any) -> Response:
    return await visit.show(f"{what}.html", **await list_values(visit, what, query, *args))


async def list_values(visit: Visit, what: str, query: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What the template of a list is given. The query takes these arguments, and what is wanted."""
    given = visit.request.query_params
    wanted = filtered(visit, what, dict(given))._replace(cursor=given.get("cursor") or None)
    page = await visit.ask(query, *args, wanted)
    return {**page, "page": page, "filters": wanted.filters, "choices": LISTING[what].choices, "within": WITHIN}


def filtered(visit: Visit, what: str, given: dict[str, str]) -> Wanted:
    filters = {name: given[name] for name in LISTING[what].filters if given.get(name)}
    _, seconds = WITHIN.get(given.get("within", ""), ("", 0))
    return Wanted(filters, visit.service.broker.now - seconds * 1_000_000 if seconds else None, None, PAGE)


def selection(visit: Visit) -> tuple[list[int] | None, dict[str, str]]:
    """The keys that were selected, None for all that match; and the filters, in fields that begin with `filter_`."""
    fields = {name.removeprefix("filter_"): visit.field(name) for name in visit.form if name.startswith("filter_")}
    filters = {name: value for name, value in fields.items() if value}
    if visit.field("all"):
        return None, filters
    return [key_of("selected", key) for key in visit.form.get("selected", [])], filters


def nothing_selected(visit: Visit, path: str, filters: dict[str, str]) -> Response:
    return visit.go(address(path, filters), "Nothing is selected: tick some, or all that match.", "bad")


async def matching(visit: Visit, what: str) -> int | None:
    """How many match the filters of a list; None: that is not known before they are looked at."""
    return await visit.ask(queries.count, what, filtered(visit, what, dict(visit.request.query_params)))
