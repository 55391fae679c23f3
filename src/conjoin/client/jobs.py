"""Jobs: activated, completed, failed, ended with an error of the model; and the loop of a simple worker.

A completion that got no answer is retried: if the job is gone by then, it was done. A failure is not: somebody else may
have the job by then.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from conjoin.client.exchange import Exchange, Handle, HttpRequest, Patience, RetryPause, called, never
from conjoin.client.processes import Variables
from conjoin.client.values import WorkerJob
from conjoin.errors import CallFailed, NotFound, WrongState

_LOG = logging.getLogger(__name__)


class ModelledError(Exception):
    """Raised by a worker's function: the job ends with this error of the model, which a boundary event may catch."""

    def __init__(self, code: str, text: str = "", variables: Variables | None = None) -> None:
        super().__init__(code, text)
        self.code, self.text, self.variables = code, text, variables or {}


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Which jobs a worker takes, how many at a time, and for how long it has each."""

    type: str
    worker: str = "conjoin"
    at_once: int = 10
    timeout_ms: int = 300_000
    wait_ms: int = 10_000
    tenants: tuple[str, ...] = ()


def activate_jobs(patience: Patience, wanted: WorkerOptions) -> Exchange[list[WorkerJob]]:
    """Waits until there are some, or `wait_ms` are over. Jobs of a lost answer come back after their timeout."""
    about = {"type": wanted.type, "worker": wanted.worker, "timeout": wanted.timeout_ms}
    # 0 would be the server's own wait; -1 is none.
    how = {"maxJobsToActivate": wanted.at_once, "requestTimeout": wanted.wait_ms or -1}
    request = HttpRequest(*(f"activate {wanted.type!r}", "POST", "/v2/jobs/activation"), later_s=wanted.wait_ms / 1_000)
    found = yield from called(patience, request, {**about, **how, "tenantIds": list(wanted.tenants)})
    return msgspec.convert(found["jobs"], list[WorkerJob], strict=False)


def complete_job(patience: Patience, key: int, variables: Variables | None = None) -> Exchange[None]:
    request = HttpRequest(f"complete job {key}", "POST", f"/v2/jobs/{key}/completion")
    return called(patience, request, {"variables": dict(variables or {})}, gone_is_done=True)


def fail_job(patience: Patience, key: int, retries: int, text: str = "", back_off_ms: int = 0) -> Exchange[None]:
    """With so many retries left; none is an incident."""
    body = {"retries": retries, "errorMessage": text, "retryBackOff": back_off_ms}
    return called(patience, HttpRequest(f"fail job {key}", "POST", f"/v2/jobs/{key}/failure"), body, never)


def throw_error(patience: Patience, key: int, error: ModelledError) -> Exchange[None]:
    body = {"errorCode": error.code, "errorMessage": error.text, "variables": dict(error.variables)}
    request = HttpRequest(f"end job {key} with {error.code!r}", "POST", f"/v2/jobs/{key}/error")
    return called(patience, request, body, gone_is_done=True)


def update_retries(patience: Patience, key: int, retries: int) -> Exchange[None]:
    request = HttpRequest(f"update retries of job {key}", "PATCH", f"/v2/jobs/{key}")
    return called(patience, request, {"changeset": {"retries": retries}})


def work(
    patience: Patience, wanted: WorkerOptions, handler: Callable[[WorkerJob], Any], is_over: Callable[[], bool]
) -> Exchange[None]:
    """Activates jobs and hands them to the worker's function, one after the other, until it is over.

    It outlives the server: while there is none, it goes on polling.
    """
    while not is_over():
        try:
            jobs = yield from activate_jobs(patience, wanted)
        except CallFailed as error:
            if not error.retryable:
                raise
            _LOG.warning("%s; retrying until the server answers", error)
            yield RetryPause(patience.longest_pause_s)
            continue
        for job in jobs:
            outcome = yield Handle(handler, job)
            try:
                yield from _answered(job, outcome, patience)
            except CallFailed as error:
                # It took too long and somebody else has it, or its instance is gone, or it comes back by its timeout.
                if not (error.retryable or isinstance(error, (NotFound, WrongState))):
                    raise


def _answered(job: WorkerJob, outcome: Any, patience: Patience) -> Exchange[None]:
    if isinstance(outcome, ModelledError):
        yield from throw_error(patience, job.job_key, outcome)
    elif isinstance(outcome, Exception):
        text = f"{type(outcome).__name__}: {outcome}"
        yield from fail_job(patience, job.job_key, job.retries - 1, text)
    else:
        yield from complete_job(patience, job.job_key, outcome)
