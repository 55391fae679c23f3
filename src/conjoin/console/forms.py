"""Forms: read within limits, and taken only from our own pages.

A form carries a token that a cookie has, too; another site can neither read the cookie (SameSite, HttpOnly) nor guess
it. The browser says where a form came from; whoever names another place is refused before that.
"""

from secrets import compare_digest, token_urlsafe
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request

from conjoin.gateway.rest.problems import Problem, invalid
from conjoin.gateway.rest.reading import body_of, of_type

TOKEN = "conjoin_token"
_MOST_FIELDS = 2_000


def new_token() -> str:
    return token_urlsafe(24)


async def checked_form(request: Request) -> dict[str, list[str]]:
    """Raises `Problem` for a form that is not ours."""
    if not _is_from_here(request):
        raise Problem(403, "FORBIDDEN", "The form was sent from another site")
    of_type(request, "application/x-www-form-urlencoded")
    try:
        form = parse_qs((await body_of(request)).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise invalid("The form cannot be read") from None
    known, given = request.cookies.get(TOKEN, ""), form.pop("token", [""])[-1]
    if not known or not compare_digest(known.encode(), given.encode()):
        raise Problem(403, "FORBIDDEN", "The form is no longer valid: load its page again, and send it once more")
    return form


def _is_from_here(request: Request) -> bool:
    origin = request.headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc == request.headers.get("host", "")
    return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
