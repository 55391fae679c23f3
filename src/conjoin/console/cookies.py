"""Cookies of the console: no script reads them, no other site sends them, and under TLS they go nowhere else.

Under TLS they have the prefix `__Host-`, so that no other host of the domain and no page without TLS can set them.
"""

from starlette.requests import Request
from starlette.responses import Response


def cookie(request: Request, name: str) -> str:
    """Empty if it has not come."""
    return request.cookies.get(_called(request, name), "")


def set_cookie(request: Request, answer: Response, name: str, value: str, max_age: int | None = None) -> None:
    """Until the browser is closed, or for so many seconds; 0 deletes it."""
    called, is_secure = _called(request, name), request.url.scheme == "https"
    answer.set_cookie(called, value, max_age, path="/", secure=is_secure, httponly=True, samesite="strict")


def _called(request: Request, name: str) -> str:
    return f"__Host-{name}" if request.url.scheme == "https" else name
