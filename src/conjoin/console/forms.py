"""Forms: read within limits, and taken only from our own pages.

A form carries a token that a cookie has, too; another site can neither read the cookie (SameSite, HttpOnly) nor guess
it. What a page of another origin sends is refused before that, by the edge of REST.
"""

from secrets import compare_digest, token_urlsafe
from urllib.parse import parse_qs

from starlette.requests import Request

from conjoin.console.cookies import cookie
from conjoin.gateway.http.problems import HttpProblem, invalid
from conjoin.gateway.http.reading import body_of, hold, of_type
from conjoin.gateway.memory_budget import json_cost

TOKEN = "conjoin_token"
_MOST_FIELDS = 2_000


def new_token() -> str:
    return token_urlsafe(24)


async def checked_form(request: Request) -> dict[str, list[str]]:
    """Raises `HttpProblem` for a form that is not ours."""
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
