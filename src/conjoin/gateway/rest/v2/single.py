"""One thing by its key: the same items that the searches find."""

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from conjoin.gateway.http.edge import FILE_HEADERS
from conjoin.gateway.http.problems import not_found
from conjoin.gateway.http.reading import key_in
from conjoin.gateway.rest.endpoint import Endpoint, Handler, RestCall, answer
from conjoin.gateway.search.engine.engine import one
from conjoin.gateway.search.engine.schemas import item_schema
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.gateway.search.inside_instances import ELEMENT_INSTANCES, INCIDENTS, VARIABLES
from conjoin.gateway.search.jobs import USER_TASKS
from conjoin.gateway.search.processes import PROCESS_DEFINITIONS, PROCESS_INSTANCES
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.instances import instance_holding, scope_of_variable

Find = Callable[[Broker, Search, int], Item | None]
_LARGEST = 2**63 - 1


def _inside(scope: Callable[[int], int]) -> Find:
    """Of an instance that is found by the key of a scope in it."""

    def find(broker: Broker, what: Search, key: int) -> Item | None:
        inner = scope(key)
        row = instance_holding(broker, inner) if 0 < inner <= _LARGEST else None
        items = [] if row is None else next(iter(what.items(broker, [row])))
        return next((item for item in items if item[what.key.name] == key), None)

    return find


def _handler(what: Search, find: Find = one) -> Handler:
    async def handle(call: RestCall) -> Response:
        key = key_in(call.request, what.key.name)
        read = call.service.look_up if find is one else call.service.look
        item = await read(find, call.service.broker, what, key)
        if item is None:
            raise not_found(f"{what.name.replace('-', ' ').capitalize()[:-1]} with key {key} not found")
        return answer(what.to_plain(item))

    return handle


async def xml(call: RestCall) -> Response:
    key = key_in(call.request, "processDefinitionKey")
    content = await call.service.look_up(_content, call.service.broker, key)
    if content is None:
        raise not_found(f"Process definition with key {key} not found")
    headers = FILE_HEADERS | {"Content-Disposition": f'attachment; filename="{key}.bpmn"'}
    return Response(content, headers=headers, media_type="text/xml")


def _content(broker: Broker, key: int) -> bytes | None:
    view = broker.catalog.view()
    return view.deployments.resource(key)[1] if rows_with(broker, "definition", [key]) else None


def _endpoint(what: Search, name: str, handler: Handler) -> Endpoint:
    path = f"/v2/{what.name}/{{{what.key.name}}}"
    summary = f"One of the {what.name.replace('-', ' ')}, by its key"
    return Endpoint("GET", path, name, summary, handler, answer=item_schema(what))


_XML: dict[str, Any] = {"type": "string"}

ENDPOINTS = (
    _endpoint(PROCESS_INSTANCES, "getProcessInstance", _handler(PROCESS_INSTANCES)),
    _endpoint(PROCESS_DEFINITIONS, "getProcessDefinition", _handler(PROCESS_DEFINITIONS)),
    _endpoint(INCIDENTS, "getIncident", _handler(INCIDENTS)),
    _endpoint(USER_TASKS, "getUserTask", _handler(USER_TASKS)),
    _endpoint(VARIABLES, "getVariable", _handler(VARIABLES, _inside(scope_of_variable))),
    _endpoint(ELEMENT_INSTANCES, "getElementInstance", _handler(ELEMENT_INSTANCES, _inside(lambda key: key))),
    Endpoint(
        *("GET", "/v2/process-definitions/{processDefinitionKey}/xml", "getProcessDefinitionXml"),
        "The model as it was deployed",
        xml,
        answer=_XML,
        answers_as="text/xml",
    ),
)
