"""The client for programs that wait for answers. The calls and their descriptions are in the modules beside it."""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

from conjoin.client import carrying, operations, searches
from conjoin.client import jobs as of_jobs
from conjoin.client import messages as of_messages
from conjoin.client import processes as of_processes
from conjoin.client.carrying import ADDRESS, USUAL, ClientTls, Credentials, httpx
from conjoin.client.exchange import Exchange, Found, Handle, HandOut, HttpRequest, Patience, RetryPause, Take
from conjoin.client.jobs import WorkerOptions
from conjoin.client.processes import Variables
from conjoin.client.values import BulkResult, Publication, WorkerJob

Handler = Callable[[WorkerJob], Variables | None]
_A = TypeVar("_A")
_P = ParamSpec("_P")


def _once(call: Callable[Concatenate[Patience, _P], Exchange[_A]]) -> Callable[Concatenate["Client", _P], _A]:
    """A call with one answer."""

    def method(self: "Client", *given: _P.args, **named: _P.kwargs) -> _A:
        return self._done(call(self.patience, *given, **named))

    return carrying.as_method(call, method)  # type: ignore[no-any-return]


def _many(call: Callable[Concatenate[Patience, _P], Found[_A]]) -> Callable[Concatenate["Client", _P], Iterator[_A]]:
    """A search: an iterator that asks for the next page when it is needed."""

    def method(self: "Client", *given: _P.args, **named: _P.kwargs) -> Iterator[_A]:
        return self._found(call(self.patience, *given, **named))

    return carrying.as_method(call, method)  # type: ignore[no-any-return]


class Client:
    """`with Client("https://conjoin.example", Bearer(token)) as client: ...`. For any number of threads."""

    def __init__(
        self,
        address: str = ADDRESS,
        credentials: Credentials | None = None,
        tls: ClientTls | None = None,
        timeout_s: float = 10.0,
        patience: Patience = USUAL,
    ) -> None:
        self._http = httpx.Client(**carrying.settings(address, credentials, tls, timeout_s))
        self._timeout_s = timeout_s
        self.patience = patience

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    publish = _once(of_messages.publish)
    publish_and_wait = _once(of_messages.publish_and_wait)
    correlate = _once(of_messages.correlate)
    explain = _once(of_messages.explain)
    broadcast_signal = _once(of_messages.broadcast_signal)
    deploy = _once(of_processes.deploy)
    create_instance = _once(of_processes.create_instance)
    run_instance = _once(of_processes.run_instance)
    cancel_instance = _once(of_processes.cancel_instance)
    set_variables = _once(of_processes.set_variables)
    resolve_incident = _once(of_processes.resolve_incident)
    assign_user_task = _once(of_processes.assign_user_task)
    unassign_user_task = _once(of_processes.unassign_user_task)
    complete_user_task = _once(of_processes.complete_user_task)
    activate_jobs = _once(of_jobs.activate_jobs)
    complete_job = _once(of_jobs.complete_job)
    fail_job = _once(of_jobs.fail_job)
    throw_error = _once(of_jobs.throw_error)
    update_retries = _once(of_jobs.update_retries)
    topology = _once(operations.topology)
    inbox_message = _once(operations.inbox_message)
    operate_on_inbox_message = _once(operations.operate_on_inbox_message)
    operate_on_inbox = _once(operations.operate_on_inbox)
    policies = _once(operations.policies)
    set_policy = _once(operations.set_policy)
    retry_set_aside = _once(operations.retry_set_aside)
    delete_set_aside = _once(operations.delete_set_aside)
    request = _once(operations.request)
    variables = _once(searches.variables)
    messages = _many(searches.messages)
    instances = _many(searches.instances)
    incidents = _many(searches.incidents)
    jobs = _many(searches.jobs)
    user_tasks = _many(searches.user_tasks)
    element_instances = _many(searches.element_instances)
    processes = _many(searches.processes)
    inbox = _many(searches.inbox)
    set_aside = _many(searches.set_aside)

    def publish_many(self, some: Iterable[Publication]) -> Iterator[BulkResult]:
        """Any number of them, as fast as the server stores them; a line for each, in their order."""
        return self._found(of_messages.publish_many(self.patience), some)

    def work(self, wanted: WorkerOptions, handler: Handler, is_over: Callable[[], bool] = lambda: False) -> None:
        """Hands jobs to a function until `is_over`, which is asked before each poll. It outlives the server.

        What the function returns are the variables of the completed job; `ModelledError` ends it with an error of the
        model; any other exception fails it, with one retry less.
        """
        work = of_jobs.work(self.patience, wanted, is_over)
        outcome: Any = None
        try:
            while True:
                step = work.send(outcome)
                outcome = _handled(handler, step.job) if isinstance(step, Handle) else self._carried(step)
        except StopIteration:
            return

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

    def _carried(self, step: HttpRequest | RetryPause) -> Any:
        if isinstance(step, RetryPause):
            time.sleep(step.seconds)
            return None
        try:
            return carrying.answer_of(self._http.request(**carrying.how(step, self._timeout_s)))
        except httpx.TransportError as error:
            return carrying.lost(error)


def _handled(handler: Handler, job: WorkerJob) -> Any:
    try:
        return handler(job)
    except Exception as error:  # noqa: BLE001 - the border to somebody else's function: its failure is the job's
        return error
