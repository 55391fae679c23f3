"""Forms, read within limits and taken only from the console's own pages; and its cookies.

A form carries a token that a cookie has, too; another site can neither read the cookie (SameSite, HttpOnly) nor guess
it. What a page of another origin sends is refused before that, by the edge of REST. Under TLS cookies have the prefix
`__Host-`, so that no other host of the domain and no page without TLS can set them.
"""

from secrets import compare_digest
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from conjoin.gateway.http.problems import HttpProblem, invalid
from conjoin.gateway.http.reading import body_of, hold, of_type
from conjoin.gateway.memory_budget import json_cost

TOKEN = "conjoin_token"
_MOST_FIELDS = 2_000


async def checked_form(request: Request) -> dict[str, list[str]]:
    """Raises `HttpProblem` for a form that is not the console's."""
    of_type(request, "application/x-www-form-urlencoded")
    try:
        form = parse_qs((await body_of(request)).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise invalid("The form cannot be read") from None
    hold(request, sum(json_cost(value.encode()) for values in form.values() for value in values))
    known, given = cookie(request, TOKEN), form.pop("token", [""])[-1]
    if not known or not compare_digest(known.encode(), given.encode()):
        raise HttpProblem(403, "FORBIDDEN", "The form has expired: reload the page and submit it again")
    return form


def cookie(request: Request, name: str) -> str:
    """Empty if there is none."""
    return request.cookies.get(_cookie_name(request, name), "")


def set_cookie(request: Request, response: Response, name: str, value: str, max_age: int | None = None) -> None:
    """Until the browser is closed, or for so many seconds; 0 deletes it."""
    full_name, is_secure = _cookie_name(request, name), request.url.scheme == "https"
    response.set_cookie(full_name, value, max_age, path="/", secure=is_secure, httponly=True, samesite="strict")


def _cookie_name(request: Request, name: str) -> str:
    return f"__Host-{name}" if request.url.scheme == "https" else name
