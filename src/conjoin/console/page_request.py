"""A visit to a page: the request, its queries, and the response, always with the same strict headers.

What goes wrong becomes a page, too: a visitor of the console never sees JSON. A form carries a token that a cookie has,
too; another site can neither read the cookie (SameSite, HttpOnly) nor guess it. What a page of another origin sends is
refused before that, by the edge of REST. Under TLS cookies have the prefix `__Host-`, so that no other host of the
domain and no page without TLS can set them.
"""

import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from secrets import compare_digest, token_urlsafe
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, quote, unquote

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from conjoin.console.message_rate import Pace
from conjoin.errors import ConjoinError
from conjoin.gateway.http.context import USER, Gateway, address_of
from conjoin.gateway.http.problems import HttpProblem, accepted, invalid
from conjoin.gateway.http.reading import body_of, hold, memory_for, of_type, while_there
from conjoin.gateway.memory_budget import json_cost
from conjoin.gateway.queries.incidents import KeyTimes
from conjoin.gateway.service import Refusal, Service
from conjoin.gateway.statuses import status_of

_LOG = logging.getLogger(__name__)
_A = TypeVar("_A")
_TOKEN, _NOTICE = "conjoin_token", "conjoin_notice"
_MOST_FIELDS = 2_000
_LONGEST_NOTICE = 1_000
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none';"
    " form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_READ_ONLY = HttpProblem(403, "FORBIDDEN", "This console is read-only (--read-only-console)")


class Console(NamedTuple):
    """What all pages work with."""

    gateway: Gateway
    templates: Environment
    pace: Pace
    times: KeyTimes
    read_only: bool


class Visit(NamedTuple):
    """`form` is what was sent; of a page that is only looked at it is empty."""

    console: Console
    request: Request
    form: Mapping[str, list[str]]
    call: str
    """Method and path."""

    @property
    def service(self) -> Service:
        return self.console.gateway.service

    @property
    def who(self) -> str:
        user: object = self.request.scope.get(USER)
        return user if isinstance(user, str) else "console"

    async def ask(self, query: Callable[..., _A | Refusal], *args: Any) -> _A:
        """One of `gateway.queries`."""
        return accepted(await self.service.look(query, self.service.broker, *args))

    def field(self, name: str) -> str:
        """As it was typed: a blank may be all that was wrong with a key."""
        return self.form.get(name, [""])[-1].replace("\r\n", "\n")

    async def show(self, template: str, status: int = 200, **values: Any) -> Response:
        """Rendered in a reader: a large page would block the event loop."""
        return await self.service.look(partial(self.rendered, template, status, **values))

    def rendered(self, template: str, status: int, **values: Any) -> Response:
        token = _cookie(self.request, _TOKEN) or token_urlsafe(24)
        notice = _cookie(self.request, _NOTICE)
        kind, _, text = unquote(notice).partition(":")
        shown = self.console.templates.get_template(template).render(
            **{"token": token, "notice": text, "notice_kind": kind, "path": self.request.url.path},
            **{"query": dict(self.request.query_params), "read_only": self.console.read_only},
            now=self.service.broker.now,
            has_inbox=self.service.inbox is not None,
            **values,
        )
        response = HTMLResponse(shown, status, headers=HEADERS)
        _set_cookie(self.request, response, _TOKEN, token)
        if notice:
            _set_cookie(self.request, response, _NOTICE, "", max_age=0)
        return response

    def go(self, path: str, notice: str = "", kind: str = "good") -> Response:
        """To another page, which shows what was done. Operator actions are in the log and in the audit."""
        if self.request.method == "POST":
            _LOG.warning("console: %s: %s: %r", self.who, self.request.url.path, notice)
            self.console.gateway.guard.note(self.who, self.call, self.request.path_params, notice)
        response = RedirectResponse(path, 303, headers=HEADERS)
        if notice:
            _set_cookie(self.request, response, _NOTICE, quote(f"{kind}:{notice[:_LONGEST_NOTICE]}"))
        return response

    def outcome(self, path: str, why_not: str | None, done: str) -> Response:
        """The same, with what came of an order."""
        return self.go(path, done) if why_not is None else self.go(path, f"Refused: {why_not}", "bad")


Page = Callable[[Visit], Coroutine[Any, Any, Response]]


def route(console: Console, path: str, method: str, page: Page) -> Route:
    """A POST is a form; it changes something, so it is refused without its token, and by a read-only console."""

    async def endpoint(request: Request) -> Response:
        visit = Visit(console, request, {}, f"{method} {path}")
        try:
            who = (visit.call, request.headers, visit.service, address_of(request))
            admitted = accepted(await console.gateway.guard.admit(*who))
            if admitted.who:
                request.scope[USER] = admitted.who
            # With the part of the service that the caller may use.
            gateway = console.gateway._replace(service=admitted.service)
            visit = visit._replace(console=console._replace(gateway=gateway))
            if method == "GET":
                return await while_there(request, page(visit))
            with memory_for(request, visit.service.memory):
                visit = visit._replace(form=await _checked_form(request))
                if console.read_only and not path.endswith("/rehearse"):
                    raise _READ_ONLY
                return await page(visit)
        except HttpProblem as problem:
            shown = visit.rendered("problem.html", problem.status, title=problem.title, detail=problem.detail)
            shown.headers.update(problem.headers or {})
            return shown
        except ConjoinError as error:
            return visit.rendered("problem.html", status_of(error).http, title="Request failed", detail=str(error))

    return Route(path, endpoint, methods=[method])


async def _checked_form(request: Request) -> dict[str, list[str]]:
    """Raises `HttpProblem` for a form that is not the console's."""
    of_type(request, "application/x-www-form-urlencoded")
    try:
        form = parse_qs((await body_of(request)).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise invalid("The form cannot be read") from None
    hold(request, sum(json_cost(value.encode()) for values in form.values() for value in values))
    known, given = _cookie(request, _TOKEN), form.pop("token", [""])[-1]
    if not known or not compare_digest(known.encode(), given.encode()):
        raise HttpProblem(403, "FORBIDDEN", "The form has expired: reload the page and submit it again")
    return form


def _cookie(request: Request, name: str) -> str:
    """Empty if there is none."""
    return request.cookies.get(_cookie_name(request, name), "")


def _set_cookie(request: Request, response: Response, name: str, value: str, max_age: int | None = None) -> None:
    """Until the browser is closed, or for so many seconds; 0 deletes it."""
    full_name, is_secure = _cookie_name(request, name), request.url.scheme == "https"
    response.set_cookie(full_name, value, max_age, path="/", secure=is_secure, httponly=True, samesite="strict")


def _cookie_name(request: Request, name: str) -> str:
    return f"__Host-{name}" if request.url.scheme == "https" else name
