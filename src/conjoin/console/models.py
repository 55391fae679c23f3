"""Models: what is deployed; and one version with its diagram and how many of its instances are where."""

from starlette.responses import Response

from conjoin.console.laid_out import Tokens, laid_out
from conjoin.console.visit import HEADERS, Visit
from conjoin.gateway import queries
from conjoin.gateway.rest.reading import key_in

_SHOWN = 20


async def model_list(visit: Visit) -> Response:
    return visit.show("models.html", items=await visit.ask(queries.models))


async def one_model(visit: Visit) -> Response:
    it = await visit.ask(queries.model, key_in(visit.request, "key"))
    open_waits = queries.Wanted({"process": it["process_id"], "state": "open"}, limit=_SHOWN)
    waits = (await visit.ask(queries.page, "subscriptions", open_waits))["items"]
    tokens = Tokens(it["tokens"], it["troubled"])
    drawing = None if it["has_diagram"] else laid_out(it["elements"], tokens)
    return visit.show("model.html", it=it, waits=waits, most=queries.MOST_INSTANCES, tokens=tokens, drawing=drawing)


async def xml(visit: Visit) -> Response:
    """For the viewer of diagrams."""
    content = await visit.ask(queries.xml, key_in(visit.request, "key"))
    return Response(content, headers=HEADERS, media_type="text/xml")
