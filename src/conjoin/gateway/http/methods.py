"""Which methods an address has. A plain one comes before those whose parameter would take its last word for a key.

So `GET /v2/incidents/search` is told that there is only POST, and not that `search` is no key.
"""

from collections.abc import Iterable, Sequence

from starlette.endpoints import HTTPEndpoint
from starlette.routing import BaseRoute, Route

NOT_HERE = "not here"
"""The name of routes that only say so."""


class NoOtherMethod(HTTPEndpoint):
    """Of an address whose methods all stand before it."""


def in_order(routes: Sequence[Route]) -> list[BaseRoute]:
    plain = [route for route in routes if not route.param_convertors]
    others = [route for route in routes if route.param_convertors]
    hidden = {it.path for it in plain if any(other.path_regex.match(it.path) for other in others)}
    return [*plain, *(Route(path, NoOtherMethod) for path in hidden), *others]


def allowed(path: str, routes: Iterable[BaseRoute]) -> str:
    """For the header of that name."""
    here = [route for route in routes if isinstance(route, Route) and route.name != NOT_HERE]
    found = [route for route in here if route.path_regex.match(path)]
    exact = [route for route in found if route.path == path] or found
    return ", ".join(sorted({method for route in exact for method in route.methods or ()}))
