"""conjoin instance create, cancel, set-variables, resolve: what is asked of process instances."""

from typing import Annotated

import typer

from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import BusinessId, Tenant, Variables, read_variables
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.runtime.engine.catalog import DEFAULT_TENANT


@on_engine
def create(
    where: Where,
    process_id: Annotated[str, typer.Argument(metavar="PROCESS_ID", help="The id of the process in its model.")],
    variables: Variables = "{}",
    version: Annotated[int, typer.Option("--version", min=-1, help="A version; -1 is the latest.")] = -1,
    business_id: BusinessId = "",
    tenant: Tenant = DEFAULT_TENANT,
    as_json: AsJson = False,
) -> None:
    """Create an instance of a process.

    [bold]Examples[/bold]

      conjoin instance create order --variables '{"orderId": "o-1"}'

      conjoin create instance order --version 2 --variables @order.json
    """
    given = read_variables(variables)
    with where.engine() as engine:
        answer = engine.create_instance(process_id, given, max(version, 0), business_id, tenant)
        created = accepted(answer, as_json)
    told = {
        "key": str(created.key),
        "process_id": created.process_id,
        "version": created.version,
        "definition_key": str(created.definition_key),
    }
    tell(told, f"created instance {created.key} of {created.process_id} version {created.version}", as_json)


@on_engine
def cancel(
    where: Where,
    key: Annotated[
        int, typer.Argument(min=0, max=LARGEST_INT64, metavar="INSTANCE_KEY", help="The key of the instance.")
    ],
    as_json: AsJson = False,
) -> None:
    """Cancel an instance: everything in it ends, and it waits for no messages any more.

    [bold]Example[/bold]

      conjoin instance cancel 2251799813685251
    """
    with where.engine() as engine:
        accepted(engine.cancel_instance(key), as_json)
    tell({"key": str(key), "cancelled": True}, f"cancelled instance {key}", as_json)


@on_engine
def set_variables(
    where: Where,
    key: Annotated[
        int,
        typer.Argument(
            min=0, max=LARGEST_INT64, metavar="SCOPE_KEY", help="An instance, or an element instance in it."
        ),
    ],
    variables: Annotated[
        str, typer.Option("--variables", metavar="JSON", help="An object as JSON, @FILE, or - for the standard input.")
    ],
    local: Annotated[bool, typer.Option("--local", help="Set them in this scope, not where they are defined.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set variables of an instance.

    [bold]Example[/bold]

      conjoin instance set-variables 2251799813685251 --variables '{"orderId": "o-1"}'
    """
    given = read_variables(variables)
    with where.engine() as engine:
        accepted(engine.set_variables(key, given, local), as_json)
    tell({"key": str(key), "set": list(given)}, f"set {', '.join(given) or 'nothing'} of {key}", as_json)


@on_engine
def resolve(
    where: Where,
    key: Annotated[
        int, typer.Argument(min=0, max=LARGEST_INT64, metavar="INCIDENT_KEY", help="The key of the incident.")
    ],
    as_json: AsJson = False,
) -> None:
    """Resolve an incident: what failed is retried. Fix its cause first.

    [bold]Example[/bold]

      conjoin instance resolve 2251799813685260
    """
    with where.engine() as engine:
        accepted(engine.resolve_incident(key), as_json)
    tell({"key": str(key), "resolved": True}, f"resolved incident {key}", as_json)
