"""What a list is asked in the query of its address: the filters it has, a time, a page. Other names are left alone."""

from typing import Any

from conjoin.console.page_request import Visit
from conjoin.gateway.queries.store import LISTING, Wanted

WITHIN = {"15m": ("15 minutes", 900), "1h": ("hour", 3_600), "24h": ("day", 86_400), "7d": ("week", 604_800)}
"""How long ago at most."""
PAGE = 50


def wanted(visit: Visit, what: str) -> Wanted:
    given = visit.request.query_params
    return filtered(visit, what, dict(given))._replace(cursor=given.get("cursor") or None)


def filtered(visit: Visit, what: str, given: dict[str, str]) -> Wanted:
    filters = {name: given[name] for name in LISTING[what].filters if given.get(name)}
    _, seconds = WITHIN.get(given.get("within", ""), ("", 0))
    return Wanted(filters, visit.service.broker.now - seconds * 1_000_000 if seconds else None, None, PAGE)


def list_values(what: str, page: dict[str, Any], asked: Wanted) -> dict[str, Any]:
    """What the template of a list is given."""
    return {**page, "page": page, "filters": asked.filters, "choices": LISTING[what].choices, "within": WITHIN}
