"""The one table of calls: what both clients can do, by subject. The calls and their descriptions are beside it.

At runtime a call is one method for both clients: what it returns is that of `_done` or `_found` of the client, a value
or an awaitable. `SingleCall` and `SearchCall` are its types, and nothing else.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from conjoin.client import carrying, jobs, messages, operations, processes, searches
from conjoin.client.carrying import ADDRESS, USUAL, ClientTls, Credentials
from conjoin.client.exchange import Exchange, Found, Patience

if TYPE_CHECKING:
    from conjoin.client.client import AsyncClient, Client

_A = TypeVar("_A", covariant=True)
_P = ParamSpec("_P")


class SingleCall(Protocol[_P, _A]):
    """A call with one answer."""

    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[_P, _A]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[_P, Coroutine[Any, Any, _A]]: ...


class SearchCall(Protocol[_P, _A]):
    """A search: an iterator that reads the next page when it is needed."""

    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[_P, Iterator[_A]]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[_P, AsyncIterator[_A]]: ...


def _one(call: Callable[Concatenate[Patience, _P], Exchange[_A]]) -> SingleCall[_P, _A]:
    return _method(call, "_done")  # type: ignore[no-any-return]


def _many(call: Callable[Concatenate[Patience, _P], Found[_A]]) -> SearchCall[_P, _A]:
    return _method(call, "_found")  # type: ignore[no-any-return]


def _method(call: Callable[..., Any], carrier: str) -> Any:
    """With the name, the description and the parameters of a call; its client stands for the patience."""

    @wraps(call)
    def method(self: "ClientCalls", *given: Any, **named: Any) -> Any:
        return getattr(self, carrier)(call(self.patience, *given, **named))

    (_, *parameters) = inspect.signature(call).parameters.values()
    myself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = inspect.Signature([myself, *parameters])  # type: ignore[attr-defined]
    return method


class ClientCalls:
    """A client has a `_transport` of httpx, and carries exchanges out with it."""

    _transport: Callable[..., Any]

    def __init__(
        self,
        address: str = ADDRESS,
        credentials: Credentials | None = None,
        tls: ClientTls | None = None,
        timeout_s: float = 10.0,
        patience: Patience = USUAL,
    ) -> None:
        self._http = type(self)._transport(**carrying.settings(address, credentials, tls, timeout_s))
        self._timeout_s = timeout_s
        self.patience = patience

    publish = _one(messages.publish)
    publish_and_wait = _one(messages.publish_and_wait)
    correlate = _one(messages.correlate)
    explain = _one(messages.explain)
    broadcast_signal = _one(messages.broadcast_signal)
    deploy = _one(processes.deploy)
    create_instance = _one(processes.create_instance)
    run_instance = _one(processes.run_instance)
    cancel_instance = _one(processes.cancel_instance)
    set_variables = _one(processes.set_variables)
    resolve_incident = _one(processes.resolve_incident)
    assign_user_task = _one(processes.assign_user_task)
    unassign_user_task = _one(processes.unassign_user_task)
    complete_user_task = _one(processes.complete_user_task)
    activate_jobs = _one(jobs.activate_jobs)
    complete_job = _one(jobs.complete_job)
    fail_job = _one(jobs.fail_job)
    throw_error = _one(jobs.throw_error)
    update_retries = _one(jobs.update_retries)
    topology = _one(operations.topology)
    receive = _one(operations.receive)
    inbox_message = _one(operations.inbox_message)
    operate_on_inbox_message = _one(operations.operate_on_inbox_message)
    operate_on_inbox = _one(operations.operate_on_inbox)
    policies = _one(operations.policies)
    set_policy = _one(operations.set_policy)
    retry_set_aside = _one(operations.retry_set_aside)
    delete_set_aside = _one(operations.delete_set_aside)
    request = _one(operations.request)
    variables = _one(searches.variables)
    messages = _many(searches.messages)
    instances = _many(searches.instances)
    incidents = _many(searches.incidents)
    jobs = _many(searches.jobs)
    user_tasks = _many(searches.user_tasks)
    element_instances = _many(searches.element_instances)
    processes = _many(searches.processes)
    inbox = _many(searches.inbox)
    set_aside = _many(searches.set_aside)
