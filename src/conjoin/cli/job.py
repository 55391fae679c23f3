"""conjoin job activate, complete, fail, throw-error, update-retries: the life of a job, without a worker."""

from typing import Annotated, Any

import typer

from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import Tenant, Variables, read_ms, read_variables
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.runtime.client_api.answers import ActivatedJob
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.times.iso8601 import instant_text

JobKey = Annotated[
    int, typer.Argument(min=0, max=LARGEST_INT64, metavar="JOB_KEY", help="The key of the job, as activate printed it.")
]
ErrorMessage = Annotated[
    str, typer.Option("--errorMessage", "--error-message", metavar="TEXT", help="What went wrong.")
]


@on_engine
def activate(
    where: Where,
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="The type of the jobs.")],
    most: Annotated[int, typer.Option("--maxJobsToActivate", "--max", min=1, help="How many at most.")] = 1,
    worker: Annotated[str, typer.Option("--worker", metavar="NAME", help="The name of the worker.")] = "conjoin",
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="DURATION", help="How long they are reserved, such as 30s.")
    ] = "5m",
    fetch: Annotated[
        str, typer.Option("--variables", metavar="NAMES", help="Only these variables, with commas between them.")
    ] = "",
    tenant: Tenant = DEFAULT_TENANT,
    as_json: AsJson = False,
) -> None:
    """Activate jobs of a type: no other worker gets them until the timeout.

    [bold]Examples[/bold]

      conjoin job activate ship

      conjoin activate jobs ship --maxJobsToActivate 10 --timeout 1m --json
    """
    timeout_ms = read_ms(timeout, "--timeout")
    with where.engine() as engine:
        jobs = accepted(engine.activate_jobs(type_, most, worker, timeout_ms, tenant), as_json)
    names = [name.strip() for name in fetch.split(",") if name.strip()]
    told = [_as_object(job, names) for job in jobs]
    text = "\n".join(map(_in_words, told)) or f"no job of type {type_} is ready"
    tell({"jobs": told}, text, as_json)


def _as_object(job: ActivatedJob, names: list[str]) -> dict[str, Any]:
    return {
        "key": str(job.key),
        "type": job.type,
        "instance_key": str(job.instance_key),
        "process_id": job.process_id,
        "version": job.version,
        "element_id": job.element_id,
        "element_key": str(job.element_key),
        "retries": job.retries,
        "worker": job.worker,
        "deadline": instant_text(job.deadline),
        "headers": dict(job.headers),
        "variables": {name: value for name, value in job.variables.items() if not names or name in names},
    }


def _in_words(job: dict[str, Any]) -> str:
    where = f"of instance {job['instance_key']} of {job['process_id']} at {job['element_id']}"
    until = f"yours until {job['deadline']}, retries {job['retries']}"
    return f"job {job['key']} {where}; {until}\n    {json_text(job['variables'])}"


@on_engine
def complete(where: Where, key: JobKey, variables: Variables = "{}", as_json: AsJson = False) -> None:
    """Complete a job; its instance goes on.

    [bold]Example[/bold]

      conjoin job complete 2251799813685260 --variables '{"tracking": "T-77"}'
    """
    given = read_variables(variables)
    with where.engine() as engine:
        accepted(engine.complete_job(key, given), as_json)
    tell({"key": str(key), "completed": True}, f"completed job {key}", as_json)


@on_engine
def fail(
    where: Where,
    key: JobKey,
    retries: Annotated[int, typer.Option("--retries", min=0, help="How many are left; 0 raises an incident.")],
    message: ErrorMessage = "",
    backoff: Annotated[
        str,
        typer.Option(
            "--retryBackOff", "--retry-back-off", metavar="DURATION", help="How long to wait before the retry."
        ),
    ] = "0",
    as_json: AsJson = False,
) -> None:
    """Fail a job: it is retried, or becomes an incident when no retries are left.

    [bold]Example[/bold]

      conjoin job fail 2251799813685260 --retries 2 --errorMessage "no stock" --retryBackOff 30s
    """
    backoff_ms = read_ms(backoff, "--retryBackOff")
    with where.engine() as engine:
        accepted(engine.fail_job(key, retries, message, backoff_ms), as_json)
    tell({"key": str(key), "retries": retries}, f"failed job {key}, {retries or 'no'} retries left", as_json)


@on_engine
def throw_error(
    where: Where,
    key: JobKey,
    code: Annotated[str, typer.Option("--errorCode", "--error-code", metavar="CODE", help="As the model catches it.")],
    message: ErrorMessage = "",
    variables: Variables = "{}",
    as_json: AsJson = False,
) -> None:
    """Throw a BPMN error from a job; if the model does not catch it, an incident is raised.

    [bold]Example[/bold]

      conjoin job throw-error 2251799813685260 --errorCode out-of-stock
    """
    given = read_variables(variables)
    with where.engine() as engine:
        accepted(engine.throw_error(key, code, message, given), as_json)
    tell({"key": str(key), "error_code": code}, f"threw {code} from job {key}", as_json)


@on_engine
def update_retries(
    where: Where,
    key: JobKey,
    retries: Annotated[int, typer.Option("--retries", min=1, help="How many retries it has from now on.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Give a job retries again; then resolve its incident.

    [bold]Example[/bold]

      conjoin job update-retries 2251799813685260 --retries 3
    """
    with where.engine() as engine:
        accepted(engine.update_retries(key, retries), as_json)
    tell({"key": str(key), "retries": retries}, f"job {key} has {retries} retries", as_json)
