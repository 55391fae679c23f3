"""The client for programs that wait: one method a call. Whatever it says, `exchange` and the modules beside it say."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from conjoin.client import carrying, jobs, messages, processes, searches
from conjoin.client.carrying import ClientTls, Credentials, httpx
from conjoin.client.exchange import Exchange, File, Handle, HandOut, HttpRequest, Patience, RetryPause
from conjoin.client.jobs import ModelledError, WorkerOptions
from conjoin.client.processes import LATEST
from conjoin.client.values import (
    BulkResult,
    CorrelationResult,
    Fate,
    FoundInstance,
    FoundMessage,
    MessageExplanation,
    ProcessIncident,
    ProcessInstance,
    ProcessVersion,
    Publication,
    WorkerJob,
)

ADDRESS = "http://127.0.0.1:8080"
Variables = Mapping[str, Any]
Handler = Callable[[WorkerJob], Variables | None]
_A = TypeVar("_A")
USUAL = Patience()


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
        self._patience = patience

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def publish(self, message: Publication) -> Fate:
        """Once, however often it takes; the answer says what has become of it so far."""
        return self._done(messages.publish(message, 0, self._patience))

    def publish_and_wait(self, message: Publication, wait_ms: int = 10_000) -> Fate:
        """Answers when somebody has it, or when the wait is over."""
        return self._done(messages.publish(message, wait_ms, self._patience))

    def correlate(self, message: Publication) -> CorrelationResult:
        """Now, or not at all: `NotFound` if nobody waits."""
        return self._done(messages.correlate(message, self._patience))

    def publish_many(self, some: Iterable[Publication]) -> Iterator[BulkResult]:
        """Any number of them, as fast as the server stores them; a line for each, in their order."""
        return self._found(messages.publish_many(some, self._patience))

    def explain(self, what: Publication | int) -> MessageExplanation:
        """A message by its key, or one that is not sent."""
        return self._done(messages.explain(what, self._patience))

    def messages(self, **filters: Any) -> Iterator[FoundMessage]:
        """By `name`, `key`, `id`, `verdict`, `reason`, `tenant`, `since`, `order` and what else the list filters by."""
        return self._found(searches.messages(filters, self._patience))

    def deploy(self, *files: str | Path | File, tenant: str = "") -> list[ProcessVersion]:
        """Files of models, or names with their contents: all of them or none."""
        return self._done(processes.deploy(read_files(files), tenant, self._patience))

    def create_instance(
        self,
        process_id: str,
        variables: Variables | None = None,
        version: int = LATEST,
        tenant: str = "",
        business_id: str = "",
    ) -> ProcessInstance:
        new = processes.new_instance(process_id, variables, version, tenant, business_id)
        return self._done(processes.create(new, 0, self._patience))

    def run_instance(
        self, process_id: str, variables: Variables | None = None, wait_ms: int = 10_000, tenant: str = ""
    ) -> ProcessInstance:
        """Created, and answered when it has ended, with its variables; `TookTooLong` if it has not by then."""
        new = processes.new_instance(process_id, variables, tenant=tenant)
        return self._done(processes.create(new, wait_ms, self._patience))

    def cancel_instance(self, key: int) -> None:
        self._done(processes.cancel(key, self._patience))

    def instances(self, **filters: Any) -> Iterator[FoundInstance]:
        """By the filters of `/v2`: `processDefinitionId`, `state`, `hasIncident`, `tenantId` and others."""
        return self._found(searches.instances(filters, self._patience))

    def variables(self, instance_key: int) -> dict[str, Any]:
        return self._done(searches.variables(instance_key, self._patience))

    def set_variables(self, scope_key: int, variables: Variables, local: bool = False) -> None:
        self._done(processes.set_variables(scope_key, variables, local, self._patience))

    def incidents(self, **filters: Any) -> Iterator[ProcessIncident]:
        """Those that are open, by the filters of `/v2`: `processInstanceKey`, `errorType` and others."""
        return self._found(searches.incidents(filters, self._patience))

    def resolve_incident(self, key: int) -> None:
        self._done(processes.resolve(key, self._patience))

    def activate_jobs(self, wanted: WorkerOptions) -> list[WorkerJob]:
        return self._done(jobs.activate(wanted, self._patience))

    def complete_job(self, key: int, variables: Variables | None = None) -> None:
        self._done(jobs.complete(key, variables or {}, self._patience))

    def fail_job(self, key: int, retries: int, text: str = "", back_off_ms: int = 0) -> None:
        self._done(jobs.fail(key, retries, text, back_off_ms, self._patience))

    def throw_error(self, key: int, error: ModelledError) -> None:
        self._done(jobs.throw(key, error, self._patience))

    def update_retries(self, key: int, retries: int) -> None:
        self._done(jobs.update_retries(key, retries, self._patience))

    def work(self, wanted: WorkerOptions, handler: Handler, is_over: Callable[[], bool] = lambda: False) -> None:
        """Hands jobs to a function until `is_over`, which is asked before each poll.

        What the function answers are the variables of the completed job; `ModelledError` ends it with an error of the
        model; any other exception fails it, with one retry less.
        """
        for _ in self._found(jobs.work(wanted, is_over, self._patience), handler):
            pass

    def _done(self, exchange: Exchange[_A]) -> _A:
        answer = None
        try:
            while True:
                answer = self._carried(exchange.send(answer))
        except StopIteration as over:
            result: _A = over.value
            return result

    def _found(self, exchange: Exchange[None], handler: Handler | None = None) -> Iterator[Any]:
        answer = None
        try:
            while True:
                step = exchange.send(answer)
                answer = None
                if isinstance(step, HandOut):
                    yield from step.items
                elif isinstance(step, Handle) and handler is not None:
                    answer = _handled(handler, step.job)
                else:
                    answer = self._carried(step)
        except StopIteration:
            return

    def _carried(self, step: Any) -> Any:
        if isinstance(step, RetryPause):
            time.sleep(step.seconds)
            return None
        assert isinstance(step, HttpRequest)
        try:
            return carrying.answer_of(self._http.request(**carrying.how(step, self._timeout_s)))
        except httpx.TransportError as error:
            return carrying.lost(error)


def _handled(handler: Handler, job: WorkerJob) -> Any:
    try:
        return handler(job)
    except Exception as error:  # noqa: BLE001 - the border to somebody else's function: its failure is the job's
        return error


def read_files(files: Iterable[str | Path | File]) -> list[File]:
    return [file if isinstance(file, tuple) else (Path(file).name, Path(file).read_bytes()) for file in files]
