"""Models: what is deployed; and a version with its diagram, where its instances are, and what they wait for.

`?with=VERSION` shows another version beside it.
"""

from typing import Any

from starlette.responses import Response

from conjoin.console.page_request import HEADERS, Visit
from conjoin.gateway.http.edge import FILE_HEADERS
from conjoin.gateway.http.problems import not_found
from conjoin.gateway.http.reading import key_in
from conjoin.gateway.queries import store as queries


async def model_list(visit: Visit) -> Response:
    return await visit.show("models.html", items=await visit.ask(queries.models))


async def one_model(visit: Visit) -> Response:
    it = await visit.ask(queries.model, key_in(visit.request, "key"))
    shown = [it]
    if visit.request.query_params.get("with"):
        shown.append(await visit.ask(queries.model, _version(it, visit.request.query_params["with"])))
        shown.sort(key=lambda model: int(model["version"]))
    sides = [{**model, "tokens": {"here": model["tokens"], "troubled": model["troubled"]}} for model in shown]
    for side, other in zip(sides, sides[::-1], strict=True):
        known = {element["id"] for element in other["elements"]}
        side["only_here"] = [element["name"] for element in side["elements"] if element["id"] not in known]
    return await visit.show("model.html", it=it, sides=sides, most=queries.MOST_INSTANCES)


def _version(it: dict[str, Any], text: str) -> int:
    """The key of another version."""
    for other in it["versions"]:
        if str(other["version"]) == text and other["key"] != it["key"]:
            return int(other["key"])
    raise not_found(f"{it['process_id']} has no other version {text!r:.40}")


async def xml(visit: Visit) -> Response:
    """For the viewer of diagrams."""
    content = await visit.ask(queries.xml, key_in(visit.request, "key"))
    return Response(content, headers=HEADERS | FILE_HEADERS, media_type="text/xml")
