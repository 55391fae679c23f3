"""The searches: one endpoint for each thing that can be looked for, all of them by the same engine."""

from typing import Any

from starlette.responses import Response

from conjoin.errors import InputError
from conjoin.gateway.http.disconnects import while_there
from conjoin.gateway.http.problems import invalid
from conjoin.gateway.http.reading import decoder, key_in, read_json_body
from conjoin.gateway.rest.endpoint import Endpoint, Handler, QueryParameter, RestCall, answer
from conjoin.gateway.search import SEARCHES
from conjoin.gateway.search.engine.engine import page_as_json, search, with_conditions
from conjoin.gateway.search.engine.filters import Condition
from conjoin.gateway.search.engine.request import SearchRequest, read_request
from conjoin.gateway.search.engine.schemas import page_schema, query_schema
from conjoin.gateway.search.engine.search import Search
from conjoin.gateway.search.inside_instances import INCIDENTS, VARIABLES, cut

_READER = decoder(Any)
_FLAGS = ("true", "false")
_FLAG = {"type": "boolean"}


async def _asked(call: RestCall, what: Search) -> SearchRequest:
    try:
        return read_request(what, await read_json_body(call.request, _READER, {}))
    except InputError as error:
        raise invalid(". ".join(error.problems)) from None


async def _found(call: RestCall, what: Search, asked: SearchRequest, cuts: bool = False) -> Response:
    """Searched, and written down, in a reader, for as long as the client is there. `cuts`: values are cut."""
    return await while_there(call.request, call.service.look(_told, call, what, asked, cuts))


def _told(call: RestCall, what: Search, asked: SearchRequest, cuts: bool) -> Response:
    try:
        told = page_as_json(what, search(call.service.broker, what, asked))
    except InputError as error:
        raise invalid(". ".join(error.problems)) from None
    if cuts:
        told["items"] = [cut(item) for item in told["items"]]
    return answer(told)


def _handler(what: Search) -> Handler:
    async def handle(call: RestCall) -> Response:
        return await _found(call, what, await _asked(call, what))

    return handle


async def search_variables(call: RestCall) -> Response:
    said = call.request.query_params.get("truncateValues", "true")
    if said not in _FLAGS:
        raise invalid(f"truncateValues: {said!r:.40} is none of {', '.join(_FLAGS)}")
    return await _found(call, VARIABLES, await _asked(call, VARIABLES), said == "true")


def _incidents_of(parameter: str) -> Handler:
    """Those of an instance, or of an element instance."""

    async def handle(call: RestCall) -> Response:
        condition = Condition(INCIDENTS.filter_fields[parameter], "$eq", key_in(call.request, parameter))
        return await _found(call, INCIDENTS, with_conditions(await _asked(call, INCIDENTS), [condition]))

    return handle


def _name(what: Search) -> str:
    return "search" + "".join(part.capitalize() for part in what.name.split("-"))


def _endpoint(path: str, name: str, what: Search, handler: Handler) -> Endpoint:
    query = {"truncateValues": QueryParameter("false: values are not cut", _FLAG)} if what is VARIABLES else {}
    takes = {"application/json": query_schema(what)}
    summary = f"Search for {what.name.replace('-', ' ')}"
    told = page_schema(what)
    about: Any = {"answer": told, "takes": takes, "query": query, "example": {"page": {"limit": 5}}}
    return Endpoint("POST", path, name, summary, handler, may_be_empty=True, **about)


ENDPOINTS = (
    *(
        _endpoint(f"/v2/{it.name}/search", _name(it), it, search_variables if it is VARIABLES else _handler(it))
        for it in SEARCHES.values()
    ),
    _endpoint(
        "/v2/process-instances/{processInstanceKey}/incidents/search",
        *("searchProcessInstanceIncidents", INCIDENTS, _incidents_of("processInstanceKey")),
    ),
    _endpoint(
        "/v2/element-instances/{elementInstanceKey}/incidents/search",
        *("searchElementInstanceIncidents", INCIDENTS, _incidents_of("elementInstanceKey")),
    ),
)
