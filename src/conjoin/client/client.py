"""The two clients, for programs that wait and for those with an event loop. Both only carry exchanges out."""

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from conjoin.client import carrying
from conjoin.client.calls import ClientCalls
from conjoin.client.carrying import httpx
from conjoin.client.exchange import Exchange, Found, Handle, HandOut, RetryPause, Step, Take
from conjoin.client.jobs import WorkerOptions, work
from conjoin.client.messages import publish_many
from conjoin.client.processes import Variables
from conjoin.client.values import BulkResult, Publication, WorkerJob

Handler = Callable[[WorkerJob], Variables | None]
AsyncHandler = Callable[[WorkerJob], Awaitable[Variables | None]]
_A = TypeVar("_A")


class Client(ClientCalls):
    """`with Client("https://conjoin.example", Bearer(token)) as client: ...`. For any number of threads."""

    _transport = httpx.Client

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def publish_many(self, some: Iterable[Publication]) -> Iterator[BulkResult]:
        """Any number of them, as fast as the server stores them; a line for each, in their order."""
        return self._found(publish_many(self.patience), some)

    def work(self, wanted: WorkerOptions, handler: Handler, is_over: Callable[[], bool] = lambda: False) -> None:
        """Hands jobs to a function until `is_over`, which is called before each poll. It outlives the server.

        What the function returns are the variables of the completed job; `ModelledError` ends it with an error of the
        model; any other exception fails it, with one retry less.
        """
        self._done(work(self.patience, wanted, handler, is_over))

    def _done(self, exchange: Exchange[_A]) -> _A:
        answer = None
        try:
            while True:
                answer = self._carried(exchange.send(answer))
        except StopIteration as over:
            result: _A = over.value
            return result

    def _found(self, exchange: Found[_A], given: Iterable[Any] = ()) -> Iterator[_A]:
        answer, source = None, iter(given)
        try:
            while True:
                step = exchange.send(answer)
                answer = None
                if isinstance(step, HandOut):
                    yield from step.items
                elif isinstance(step, Take):
                    answer = list(islice(source, step.most))
                else:
                    answer = self._carried(step)
        except StopIteration:
            return

    def _carried(self, step: Step) -> Any:
        if isinstance(step, RetryPause):
            time.sleep(step.seconds)
            return None
        if isinstance(step, Handle):
            try:
                return step.handler(step.job)
            except Exception as error:  # noqa: BLE001 - the border to somebody else's function: it fails the job
                return error
        try:
            return carrying.answer_of(self._http.request(**carrying.how(step, self._timeout_s)))
        except httpx.TransportError as error:
            return carrying.lost(error)


class AsyncClient(ClientCalls):
    """`async with AsyncClient("https://conjoin.example", Bearer(token)) as client: ...`. For one event loop."""

    _transport = httpx.AsyncClient

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    def publish_many(self, some: Iterable[Publication] | AsyncIterable[Publication]) -> AsyncIterator[BulkResult]:
        """Any number of them, as fast as the server stores them; a line for each, in their order."""
        return self._found(publish_many(self.patience), some)

    async def work(
        self, wanted: WorkerOptions, handler: AsyncHandler, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        await self._done(work(self.patience, wanted, handler, is_over))

    work.__doc__ = Client.work.__doc__

    async def _done(self, exchange: Exchange[_A]) -> _A:
        answer = None
        try:
            while True:
                answer = await self._carried(exchange.send(answer))
        except StopIteration as over:
            result: _A = over.value
            return result

    async def _found(self, exchange: Found[_A], given: Iterable[Any] | AsyncIterable[Any] = ()) -> AsyncIterator[_A]:
        answer, source = None, aiter(given) if isinstance(given, AsyncIterable) else iter(given)
        try:
            while True:
                step = exchange.send(answer)
                answer = None
                if isinstance(step, HandOut):
                    for item in step.items:
                        yield item
                elif isinstance(step, Take):
                    answer = await _taken(source, step.most)
                else:
                    answer = await self._carried(step)
        except StopIteration:
            return

    async def _carried(self, step: Step) -> Any:
        if isinstance(step, RetryPause):
            await asyncio.sleep(step.seconds)
            return None
        if isinstance(step, Handle):
            try:
                return await step.handler(step.job)
            except Exception as error:  # noqa: BLE001 - the border to somebody else's function: it fails the job
                return error
        try:
            return carrying.answer_of(await self._http.request(**carrying.how(step, self._timeout_s)))
        except httpx.TransportError as error:
            return carrying.lost(error)


async def _taken(source: Any, most: int) -> list[Any]:
    if not isinstance(source, AsyncIterator):
        return list(islice(source, most))
    taken: list[Any] = []
    while len(taken) < most:
        try:
            taken.append(await anext(source))
        except StopAsyncIteration:
            break
    return taken
