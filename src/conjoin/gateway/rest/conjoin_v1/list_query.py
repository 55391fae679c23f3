"""The lists of `/conjoin/v1`: filters, a time range, a page. Unknown names are refused."""

from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import Response

from conjoin.gateway.http.problems import invalid
from conjoin.gateway.http.schemas import FLAG, INSTANT, TEXT, Schema, one_of_words, page, record
from conjoin.gateway.queries.store import FLAGS, NUMBERS, page_as_json, typed, whole_number
from conjoin.gateway.rest.endpoint import Endpoint, QueryParameter, RestCall, answer
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.lists import LISTS, Listing, ListQuery, newest_page, page_of
from conjoin.times.iso8601 import read_instant

MOST_ITEMS = 1_000
NUMBER: Schema = {"type": "string", "pattern": "^[0-9]{1,18}$"}
_ORDERS = {"asc": False, "desc": True}
_TIME_RANGE = {
    "since": QueryParameter("only from this instant on", INSTANT),
    "until": QueryParameter("only before this instant", INSTANT),
}
_PAGE = {
    "limit": QueryParameter("how many", {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS}),
    "cursor": QueryParameter("the cursor that the page before answered"),
    "order": QueryParameter("desc: the newest first", one_of_words(list(_ORDERS))),
}


def list_endpoint(what: str, name: str, summary: str, item: type) -> Endpoint:
    """One of the lists of a store, as its commands have it."""
    listing = LISTS[what]

    async def handle(call: RestCall) -> Response:
        query = read_list_query(call.request, listing)
        return await call.service.look(list_response, call.service.broker, what, listing, query)

    path, query = f"/conjoin/v1/{what}", parameters(listing)
    return Endpoint("GET", path, name, summary, handle, answer=page(record(item)), query=query)


def parameters(listing: Listing) -> dict[str, QueryParameter]:
    """Of a list: its filters, a range of its time if it has one, and what all lists have."""
    schemas = {name: NUMBER if name in NUMBERS else FLAG if name in FLAGS else TEXT for name in listing.filters}
    schemas |= {name: one_of_words(words) for name, words in listing.choices.items()}
    named = {name: QueryParameter(f"only with this {name.replace('_', ' ')}", it) for name, it in schemas.items()}
    return named | (_TIME_RANGE if listing.time is not None else {}) | _PAGE


def read_query(request: Request, known: Collection[str], texts: Collection[str]) -> dict[str, str]:
    """An empty one of `texts` is the same as none; another value that is empty is an error when it is read, as ignoring
    a filter would answer more than was asked for."""
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        raise invalid(f"Query parameter [{unknown}] is not known: there are {', '.join(known)}")
    return {name: value for name, value in request.query_params.items() if value or name not in texts}


def read_list_query(request: Request, listing: Listing) -> ListQuery:
    texts = {"cursor", *listing.filters} - {*NUMBERS, *FLAGS, *listing.choices}
    given = read_query(request, parameters(listing), texts)
    filters = {name: typed(name, given[name]) for name in listing.filters if name in given}
    limit, order = whole_number("limit", given.get("limit", "50")), given.get("order", "asc")
    since, until = (_instant(name, given.get(name)) for name in ("since", "until"))
    if order not in _ORDERS:
        raise invalid(f"order: {order!r:.40} is none of {', '.join(_ORDERS)}")
    if not 1 <= limit <= MOST_ITEMS:
        raise invalid(f"limit: {limit} is not between 1 and {MOST_ITEMS}")
    return ListQuery(filters, since, until, limit, given.get("cursor"), _ORDERS[order])


def _instant(name: str, text: str | None) -> int | None:
    at = None if text is None else read_instant(text)
    if text is not None and at is None:
        raise invalid(f"{name}: {text!r:.60} is not an instant such as 2030-01-31T08:00:00Z")
    return at


def list_response(broker: Broker, what: str, listing: Listing, query: ListQuery) -> Response:
    """A page of a list, read and encoded in a reader."""
    read = newest_page if query.newest_first else page_of
    return answer(page_as_json(read(broker, what, listing, query)))
