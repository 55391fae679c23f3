"""The client for programs with an event loop: the calls of `client.py`, awaited."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

from conjoin.client import carrying, operations, searches
from conjoin.client import jobs as of_jobs
from conjoin.client import messages as of_messages
from conjoin.client import processes as of_processes
from conjoin.client.carrying import ADDRESS, USUAL, ClientTls, Credentials, httpx
from conjoin.client.exchange import Exchange, Found, Handle, HandOut, HttpRequest, Patience, RetryPause, Take
from conjoin.client.jobs import WorkerOptions
from conjoin.client.values import BulkResult, Publication, WorkerJob

Handler = Callable[[WorkerJob], Awaitable[Mapping[str, Any] | None]]
_A = TypeVar("_A")
_P = ParamSpec("_P")


def _awaited(
    call: Callable[Concatenate[Patience, _P], Exchange[_A]],
) -> Callable[Concatenate["AsyncClient", _P], Coroutine[Any, Any, _A]]:
    """A call with one answer."""

    async def method(self: "AsyncClient", *given: _P.args, **named: _P.kwargs) -> _A:
        return await self._done(call(self.patience, *given, **named))

    return carrying.as_method(call, method)  # type: ignore[no-any-return]


def _streamed(
    call: Callable[Concatenate[Patience, _P], Found[_A]],
) -> Callable[Concatenate["AsyncClient", _P], AsyncIterator[_A]]:
    """A search: an iterator that asks for the next page when it is needed."""

    def method(self: "AsyncClient", *given: _P.args, **named: _P.kwargs) -> AsyncIterator[_A]:
        return self._found(call(self.patience, *given, **named))

    return carrying.as_method(call, method)  # type: ignore[no-any-return]


class AsyncClient:
    """`async with AsyncClient("https://conjoin.example", Bearer(token)) as client: ...`. For one event loop."""

    def __init__(
        self,
        address: str = ADDRESS,
        credentials: Credentials | None = None,
        tls: ClientTls | None = None,
        timeout_s: float = 10.0,
        patience: Patience = USUAL,
    ) -> None:
        self._http = httpx.AsyncClient(**carrying.settings(address, credentials, tls, timeout_s))
        self._timeout_s = timeout_s
        self.patience = patience

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    publish = _awaited(of_messages.publish)
    publish_and_wait = _awaited(of_messages.publish_and_wait)
    correlate = _awaited(of_messages.correlate)
    explain = _awaited(of_messages.explain)
    broadcast_signal = _awaited(of_messages.broadcast_signal)
    deploy = _awaited(of_processes.deploy)
    create_instance = _awaited(of_processes.create_instance)
    run_instance = _awaited(of_processes.run_instance)
    cancel_instance = _awaited(of_processes.cancel_instance)
    set_variables = _awaited(of_processes.set_variables)
    resolve_incident = _awaited(of_processes.resolve_incident)
    assign_user_task = _awaited(of_processes.assign_user_task)
    unassign_user_task = _awaited(of_processes.unassign_user_task)
    complete_user_task = _awaited(of_processes.complete_user_task)
    activate_jobs = _awaited(of_jobs.activate_jobs)
    complete_job = _awaited(of_jobs.complete_job)
    fail_job = _awaited(of_jobs.fail_job)
    throw_error = _awaited(of_jobs.throw_error)
    update_retries = _awaited(of_jobs.update_retries)
    topology = _awaited(operations.topology)
    inbox_message = _awaited(operations.inbox_message)
    operate_on_inbox_message = _awaited(operations.operate_on_inbox_message)
    operate_on_inbox = _awaited(operations.operate_on_inbox)
    policies = _awaited(operations.policies)
    set_policy = _awaited(operations.set_policy)
    retry_set_aside = _awaited(operations.retry_set_aside)
    delete_set_aside = _awaited(operations.delete_set_aside)
    request = _awaited(operations.request)
    variables = _awaited(searches.variables)
    messages = _streamed(searches.messages)
    instances = _streamed(searches.instances)
    incidents = _streamed(searches.incidents)
    jobs = _streamed(searches.jobs)
    user_tasks = _streamed(searches.user_tasks)
    element_instances = _streamed(searches.element_instances)
    processes = _streamed(searches.processes)
    inbox = _streamed(searches.inbox)
    set_aside = _streamed(searches.set_aside)

    def publish_many(self, some: Iterable[Publication] | AsyncIterable[Publication]) -> AsyncIterator[BulkResult]:
        """Any number of them, as fast as the server stores them; a line for each, in their order."""
        return self._found(of_messages.publish_many(self.patience), some)

    async def work(self, wanted: WorkerOptions, handler: Handler, is_over: Callable[[], bool] = lambda: False) -> None:
        """Hands jobs to a function until `is_over`, which is asked before each poll. It outlives the server.

        What the function returns are the variables of the completed job; `ModelledError` ends it with an error of the
        model; any other exception fails it, with one retry less.
        """
        work = of_jobs.work(self.patience, wanted, is_over)
        outcome: Any = None
        try:
            while True:
                step = work.send(outcome)
                outcome = await (_handled(handler, step.job) if isinstance(step, Handle) else self._carried(step))
        except StopIteration:
            return

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

    async def _carried(self, step: HttpRequest | RetryPause) -> Any:
        if isinstance(step, RetryPause):
            await asyncio.sleep(step.seconds)
            return None
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


async def _handled(handler: Handler, job: WorkerJob) -> Any:
    try:
        return await handler(job)
    except Exception as error:  # noqa: BLE001 - the border to somebody else's function: its failure is the job's
        return error
