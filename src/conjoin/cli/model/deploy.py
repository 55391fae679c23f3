"""conjoin model deploy and list: BPMN models, all of the files or none; and every version that was deployed."""

from dataclasses import asdict

from conjoin.cli.invocation import ENGINE, LINES, CommandCall, command, on_engine
from conjoin.cli.options import Models, Tenant
from conjoin.cli.reading import read_files
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.reading.lists import ListPage

_COLUMNS = ("key", "process_id", "version", "name", "tenant_id")


@on_engine("conjoin model deploy order.bpmn", "conjoin model deploy models/*.bpmn --tenantId shop")
def deploy(call: CommandCall, files: Models, tenant: Tenant = DEFAULT_TENANT) -> None:
    """Deploy BPMN models: all of the files, or none if one cannot be run.

    A process whose model has changed gets a new version; instances that run
    stay on theirs. conjoin model lint judges models without a store.
    """
    resources = read_files(files)
    deployment = call.do(lambda engine: engine.deploy(resources, tenant))
    lines = [
        f"{'unchanged:' if it.is_new is False else 'deployed'} {it.process_id} version {it.version} ({it.resource}),"
        f" key {it.key}"
        for it in deployment.processes
    ]
    processes = [
        {"process_id": it.process_id, "version": it.version, "key": str(it.key)}
        | {"resource": it.resource, "is_new": it.is_new}
        for it in deployment.processes
    ]
    key, warnings = str(deployment.key) if deployment.key else None, deployment.warnings
    call.print(
        {"key": key, "processes": processes, "warnings": [asdict(warning) for warning in warnings]},
        "\n".join([*lines, *(f"warning: {warning}" for warning in warnings)]),
    )


@command(ENGINE, "conjoin model list", json=LINES)
def list_models(call: CommandCall) -> None:
    """List the processes that were deployed, with every version."""
    found = call.do(lambda engine: list(engine.models()))
    call.print_page(ListPage(found, None), _COLUMNS, "no models")
