"""Searches, and single items by their key: one endpoint for each kind of thing, all of them by the same engine."""

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from conjoin.errors import InputError
from conjoin.gateway.http.edge import FILE_HEADERS
from conjoin.gateway.http.problems import invalid, not_found
from conjoin.gateway.http.reading import decoder, read_json_body, while_there
from conjoin.gateway.queries import store as queries
from conjoin.gateway.rest.endpoint import Endpoint, Handler, QueryParameter, RestCall, answer
from conjoin.gateway.search import SEARCHES
from conjoin.gateway.search.engine.engine import one, page_as_json, search, with_conditions
from conjoin.gateway.search.engine.filters import Condition
from conjoin.gateway.search.engine.request import SearchRequest, read_request
from conjoin.gateway.search.engine.schemas import item_schema, page_schema, query_schema
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.gateway.search.inside_instances import ELEMENT_INSTANCES, INCIDENTS, VARIABLES, cut
from conjoin.gateway.search.jobs import USER_TASKS
from conjoin.gateway.search.processes import PROCESS_DEFINITIONS, PROCESS_INSTANCES
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.reading.instances import instance_holding, scope_of_variable

Find = Callable[[Broker, Search, int], Item | None]
_READER = decoder(Any)
_FLAGS = ("true", "false")
_LARGEST = 2**63 - 1


def _search(what: Search, of: str = "") -> Handler:
    """`of`: only those of the key in the path, such as the incidents of an instance."""

    async def handle(call: RestCall) -> Response:
        truncate = call.request.query_params.get("truncateValues", "true")
        if what is VARIABLES and truncate not in _FLAGS:
            raise invalid(f"truncateValues: {truncate!r:.40} is none of {', '.join(_FLAGS)}")
        within = [Condition(what.filter_fields[of], "$eq", call.key(of))] if of else []
        try:
            request = with_conditions(read_request(what, await read_json_body(call.request, _READER, {})), within)
        except InputError as error:
            raise invalid(". ".join(error.problems)) from None
        cuts = what is VARIABLES and truncate == "true"
        return await while_there(call.request, call.service.look(_found, call.service.broker, what, request, cuts))

    return handle


def _found(broker: Broker, what: Search, request: SearchRequest, cuts: bool) -> Response:
    """Searched, and encoded, in a reader. `cuts`: long values are cut."""
    try:
        page = page_as_json(what, search(broker, what, request))
    except InputError as error:
        raise invalid(". ".join(error.problems)) from None
    if cuts:
        page["items"] = [cut(item) for item in page["items"]]
    return answer(page)


def _inside(scope: Callable[[int], int]) -> Find:
    """In the instance that is found by the key of a scope in it."""

    def find(broker: Broker, what: Search, key: int) -> Item | None:
        inner = scope(key)
        row = instance_holding(broker, inner) if 0 < inner <= _LARGEST else None
        items = [] if row is None else next(iter(what.items(broker, [row])))
        return next((item for item in items if item[what.key.name] == key), None)

    return find


async def xml(call: RestCall) -> Response:
    key = call.key("processDefinitionKey")
    content = await call.service.look_up(queries.xml, call.service.broker, key)
    if isinstance(content, Refusal):
        raise not_found(f"Process definition with key {key} not found")
    headers = FILE_HEADERS | {"Content-Disposition": f'attachment; filename="{key}.bpmn"'}
    return Response(content, headers=headers, media_type="text/xml")


def _searching(path: str, name: str, what: Search, of: str = "") -> Endpoint:
    flag = QueryParameter("false: values are not cut", {"type": "boolean"})
    return Endpoint(
        *("POST", path, name, f"Search for {what.name.replace('-', ' ')}", _search(what, of)),
        answer=page_schema(what),
        query={"truncateValues": flag} if what is VARIABLES else {},
        takes={"application/json": query_schema(what)},
        may_be_empty=True,
        example={"page": {"limit": 5}},
    )


def _getting(name: str, what: Search, find: Find = one) -> Endpoint:
    async def handle(call: RestCall) -> Response:
        key = call.key(what.key.name)
        read = call.service.look_up if find is one else call.service.look
        item = await read(find, call.service.broker, what, key)
        if item is None:
            raise not_found(f"{what.name.replace('-', ' ').capitalize()[:-1]} with key {key} not found")
        return answer(what.to_plain(item))

    path, summary = f"/v2/{what.name}/{{{what.key.name}}}", f"One of the {what.name.replace('-', ' ')}, by its key"
    return Endpoint("GET", path, name, summary, handle, answer=item_schema(what))


ENDPOINTS = (
    *(_searching(f"/v2/{it.name}/search", "search" + it.name.title().replace("-", ""), it) for it in SEARCHES.values()),
    _searching(
        "/v2/process-instances/{processInstanceKey}/incidents/search",
        *("searchProcessInstanceIncidents", INCIDENTS, "processInstanceKey"),
    ),
    _searching(
        "/v2/element-instances/{elementInstanceKey}/incidents/search",
        *("searchElementInstanceIncidents", INCIDENTS, "elementInstanceKey"),
    ),
    _getting("getProcessInstance", PROCESS_INSTANCES),
    _getting("getProcessDefinition", PROCESS_DEFINITIONS),
    _getting("getIncident", INCIDENTS),
    _getting("getUserTask", USER_TASKS),
    _getting("getVariable", VARIABLES, _inside(scope_of_variable)),
    _getting("getElementInstance", ELEMENT_INSTANCES, _inside(lambda key: key)),
    Endpoint(
        *("GET", "/v2/process-definitions/{processDefinitionKey}/xml", "getProcessDefinitionXml"),
        "The model as it was deployed",
        xml,
        answer={"type": "string"},
        answers_as="text/xml",
    ),
)
