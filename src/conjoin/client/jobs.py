"""Jobs: taken, completed, failed, ended with an error of the model; and the loop of a simple worker.

A completion that got no answer is tried again: if the job is gone by then, it was done. A failure is not: somebody else
may have the job by then.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from conjoin.client.exchange import Exchange, Handle, HttpRequest, Patience, asked, body_of, done, encoded, never
from conjoin.client.values import WorkerJob
from conjoin.errors import NoAnswer, NotFound, WrongState

Variables = Mapping[str, Any]


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


def activate(work: WorkerOptions, patience: Patience) -> Exchange[list[WorkerJob]]:
    """Waits until there are some, or `wait_ms` are over. What an answer that was lost had in it comes back later."""
    about = {"type": work.type, "worker": work.worker, "timeout": work.timeout_ms, "tenantIds": list(work.tenants)}
    # 0 would be the server's own wait; -1 is none.
    how = {"maxJobsToActivate": work.at_once, "requestTimeout": work.wait_ms or -1}
    body, later_s = encoded(about | how), work.wait_ms / 1_000
    request = HttpRequest(f"activate {work.type!r}", "POST", "/v2/jobs/activation", body, later_s=later_s)
    told = msgspec.json.decode((yield from done(request, patience)))["jobs"]
    return msgspec.convert(told, list[WorkerJob], strict=False)


def complete(key: int, variables: Variables, patience: Patience) -> Exchange[None]:
    body = encoded({"variables": dict(variables)})
    request = HttpRequest(f"complete job {key}", "POST", f"/v2/jobs/{key}/completion", body)
    yield from done(request, patience, gone_is_done=True)


def fail(key: int, retries: int, text: str, back_off_ms: int, patience: Patience) -> Exchange[None]:
    body = encoded({"retries": retries, "errorMessage": text, "retryBackOff": back_off_ms})
    request = HttpRequest(f"fail job {key}", "POST", f"/v2/jobs/{key}/failure", body)
    body_of((yield from asked(request, patience, never)), request)


def throw(key: int, error: ModelledError, patience: Patience) -> Exchange[None]:
    body = encoded({"errorCode": error.code, "errorMessage": error.text, "variables": dict(error.variables)})
    request = HttpRequest(f"end job {key} with {error.code!r}", "POST", f"/v2/jobs/{key}/error", body)
    yield from done(request, patience, gone_is_done=True)


def update_retries(key: int, retries: int, patience: Patience) -> Exchange[None]:
    body = encoded({"changeset": {"retries": retries}})
    yield from done(HttpRequest(f"update retries of job {key}", "PATCH", f"/v2/jobs/{key}", body), patience)


def work(wanted: WorkerOptions, is_over: Callable[[], bool], patience: Patience) -> Exchange[None]:
    """Takes jobs and hands them to the worker's function, one after the other, until it is over."""
    while not is_over():
        for job in (yield from activate(wanted, patience)):
            outcome = yield Handle(job)
            try:
                yield from _answered(job, outcome, patience)
            except (NotFound, WrongState, NoAnswer):
                # It took too long and somebody else has it, or its instance is gone, or it comes back by its timeout.
                continue


def _answered(job: WorkerJob, outcome: Any, patience: Patience) -> Exchange[None]:
    if isinstance(outcome, ModelledError):
        yield from throw(job.job_key, outcome, patience)
    elif isinstance(outcome, Exception):
        text = f"{type(outcome).__name__}: {outcome}"
        yield from fail(job.job_key, job.retries - 1, text, 0, patience)
    else:
        yield from complete(job.job_key, outcome or {}, patience)
