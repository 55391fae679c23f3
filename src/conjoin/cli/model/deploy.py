"""conjoin model deploy and list: BPMN models, all of the files or none; and every version that was deployed."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from conjoin.cli.engine.port import ToldPage
from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.list_options import Lines, print_page
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import Tenant, read_files
from conjoin.runtime.client_api.answers import DeployedProcess
from conjoin.runtime.engine.catalog import DEFAULT_TENANT

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="BPMN files.", show_default=False)]


@on_engine
def deploy(where: Where, files: Files, tenant: Tenant = DEFAULT_TENANT, as_json: AsJson = False) -> None:
    """Deploy BPMN models: all of the files, or none if one cannot be run.

    A process whose model has changed gets a new version; instances that run
    stay on theirs. conjoin model lint judges models without a store.

    [bold]Examples[/bold]

      conjoin model deploy order.bpmn

      conjoin model deploy models/*.bpmn --tenantId shop
    """
    resources = read_files(files)
    with where.engine() as engine:
        deployment = accepted(engine.deploy(resources, tenant), as_json)
    told = {
        "key": str(deployment.key) if deployment.key else None,
        "processes": [_as_object(process) for process in deployment.processes],
        "warnings": [asdict(warning) for warning in deployment.warnings],
    }
    lines = [*map(_in_words, deployment.processes), *(f"warning: {warning}" for warning in deployment.warnings)]
    tell(told, "\n".join(lines), as_json)


def _as_object(process: DeployedProcess) -> dict[str, Any]:
    return {
        "process_id": process.process_id,
        "version": process.version,
        "key": str(process.key),
        "resource": process.resource,
        "is_new": process.is_new,
    }


def _in_words(process: DeployedProcess) -> str:
    what = "unchanged:" if process.is_new is False else "deployed"
    return f"{what} {process.process_id} version {process.version} ({process.resource}), key {process.key}"


@on_engine
def list_models(where: Where, as_json: Lines = False) -> None:
    """List the processes that were deployed, with every version.

    [bold]Example[/bold]

      conjoin model list
    """
    with where.engine() as engine:
        found = engine.models()
    print_page(ToldPage(found, None), ("key", "process_id", "version", "name", "tenant_id"), "no models", as_json)
