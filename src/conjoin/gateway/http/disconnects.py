"""Waiting for a client that may go away: what it waits for is taken back then, so that no job goes to nobody."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import Request

from conjoin.gateway.http.problems import HttpProblem

_A = TypeVar("_A")


async def while_there(request: Request, work: Awaitable[_A]) -> _A:
    """The result of `work`, which is cancelled when the client leaves. The body must have been read."""
    working, leaving = asyncio.ensure_future(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            # Nobody reads this any more.
            raise HttpProblem(499, "CANCELLED", "The client has closed the connection")
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
