"""conjoin model deploy: BPMN models into a store, all of them or none."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import Tenant, read_files
from conjoin.cli.store_option import Data, StoreUrl, opened_broker
from conjoin.runtime.client_api.answers import DeployedProcess
from conjoin.runtime.engine.catalog import DEFAULT_TENANT

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="BPMN files.", show_default=False)]


def deploy(
    files: Files, tenant: Tenant = DEFAULT_TENANT, data: Data = None, store: StoreUrl = None, as_json: AsJson = False
) -> None:
    """Deploy BPMN models: all of the files, or none if one cannot be run.

    A process whose model has changed gets a new version; instances that run
    stay on theirs. conjoin model lint judges models without a store.

    [bold]Examples[/bold]

      conjoin model deploy order.bpmn

      conjoin model deploy models/*.bpmn --tenantId shop
    """
    resources = read_files(files)
    with opened_broker(data, store) as broker:
        deployment = accepted(broker.deploy(resources, tenant), as_json)
    told = {
        "key": str(deployment.key),
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
    what = "deployed" if process.is_new else "unchanged:"
    return f"{what} {process.process_id} version {process.version} ({process.resource}), key {process.key}"
