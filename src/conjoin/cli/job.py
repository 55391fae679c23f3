"""conjoin job activate, complete, fail, throw-error, update-retries: the life of a job, without a worker."""

from typing import Annotated, Any

import typer

from conjoin.cli.invocation import CommandCall, on_engine
from conjoin.cli.options import Tenant, Variables, option, record_key
from conjoin.cli.reading import read_ms, read_variables
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.times.iso8601 import instant_text

JobKey = Annotated[int, record_key("The key of the job, as activate printed it.", "JOB_KEY")]
ErrorMessage = Annotated[str, option("--errorMessage --error-message", "What went wrong.", "TEXT")]
_SHOWN = ("key", "type", "instance_key", "process_id", "version", "element_id", "element_key", "retries", "worker")


@on_engine(
    "conjoin job activate ship",
    "conjoin activate jobs ship --maxJobsToActivate 10 --timeout 1m --json",
)
def activate(
    call: CommandCall,
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="The type of the jobs.")],
    most: Annotated[int, typer.Option("--maxJobsToActivate", "--max", min=1, help="How many at most.")] = 1,
    worker: Annotated[str, option("--worker", "The name of the worker.", "NAME", show_default=True)] = "conjoin",
    timeout: Annotated[
        str, option("--timeout", "How long they are reserved, such as 30s.", "DURATION", show_default=True)
    ] = "5m",
    fetch: Annotated[str, option("--variables", "Only these variables, with commas between them.", "NAMES")] = "",
    tenant: Tenant = DEFAULT_TENANT,
) -> None:
    """Activate jobs of a type: no other worker gets them until the timeout."""
    timeout_ms = read_ms(timeout, "--timeout")
    names = [name.strip() for name in fetch.split(",") if name.strip()]
    jobs: list[dict[str, Any]] = [
        {
            **{name: str(getattr(job, name)) if name.endswith("key") else getattr(job, name) for name in _SHOWN},
            "deadline": instant_text(job.deadline),
            "headers": dict(job.headers),
            "variables": {name: value for name, value in job.variables.items() if not names or name in names},
        }
        for job in call.do(lambda engine: engine.activate_jobs(type_, most, worker, timeout_ms, tenant))
    ]
    lines = [
        f"job {job['key']} of instance {job['instance_key']} of {job['process_id']} at {job['element_id']};"
        f" yours until {job['deadline']}, retries {job['retries']}\n    {json_text(job['variables'])}"
        for job in jobs
    ]
    call.print({"jobs": jobs}, "\n".join(lines) or f"no job of type {type_} is ready")


@on_engine('conjoin job complete 2251799813685260 --variables \'{"tracking": "T-77"}\'')
def complete(call: CommandCall, key: JobKey, variables: Variables = "{}") -> None:
    """Complete a job; its instance goes on."""
    given = read_variables(variables)
    call.do(lambda engine: engine.calls.complete_job(key, given))
    call.print({"key": str(key), "completed": True}, f"completed job {key}")


@on_engine('conjoin job fail 2251799813685260 --retries 2 --errorMessage "no stock" --retryBackOff 30s')
def fail(
    call: CommandCall,
    key: JobKey,
    retries: Annotated[int, typer.Option("--retries", min=0, help="How many are left; 0 raises an incident.")],
    message: ErrorMessage = "",
    backoff: Annotated[
        str,
        option(
            *("--retryBackOff --retry-back-off", "How long to wait before the retry.", "DURATION"), show_default=True
        ),
    ] = "0",
) -> None:
    """Fail a job: it is retried, or becomes an incident when no retries are left."""
    backoff_ms = read_ms(backoff, "--retryBackOff")
    call.do(lambda engine: engine.calls.fail_job(key, retries, message, backoff_ms))
    call.print({"key": str(key), "retries": retries}, f"failed job {key}, {retries or 'no'} retries left")


@on_engine("conjoin job throw-error 2251799813685260 --errorCode out-of-stock")
def throw_error(
    call: CommandCall,
    key: JobKey,
    code: Annotated[str, option("--errorCode --error-code", "As the model catches it.", "CODE")],
    message: ErrorMessage = "",
    variables: Variables = "{}",
) -> None:
    """Throw a BPMN error from a job; if the model does not catch it, an incident is raised."""
    given = read_variables(variables)
    call.do(lambda engine: engine.throw_error(key, code, message, given))
    call.print({"key": str(key), "error_code": code}, f"threw {code} from job {key}")


@on_engine("conjoin job update-retries 2251799813685260 --retries 3")
def update_retries(
    call: CommandCall,
    key: JobKey,
    retries: Annotated[int, typer.Option("--retries", min=1, help="How many retries it has from now on.")] = 3,
) -> None:
    """Give a job retries again; then resolve its incident."""
    call.do(lambda engine: engine.calls.update_retries(key, retries))
    call.print({"key": str(key), "retries": retries}, f"job {key} has {retries} retries")
