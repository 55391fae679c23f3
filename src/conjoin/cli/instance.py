"""conjoin instance create, cancel, set-variables, resolve: operations on process instances. Lists are in `lists`."""

from typing import Annotated

import typer

from conjoin.cli.invocation import CommandCall, on_engine
from conjoin.cli.options import BusinessId, Tenant, Variables, option, record_key
from conjoin.cli.reading import read_variables
from conjoin.runtime.engine.catalog import DEFAULT_TENANT


@on_engine(
    'conjoin instance create order --variables \'{"orderId": "o-1"}\'',
    "conjoin create instance order --version 2 --variables @order.json",
)
def create(
    call: CommandCall,
    process_id: Annotated[str, typer.Argument(metavar="PROCESS_ID", help="The id of the process in its model.")],
    variables: Variables = "{}",
    version: Annotated[int, typer.Option("--version", min=-1, help="A version; -1 is the latest.")] = -1,
    business_id: BusinessId = "",
    tenant: Tenant = DEFAULT_TENANT,
) -> None:
    """Create an instance of a process."""
    given = read_variables(variables)
    it = call.do(lambda engine: engine.create_instance(process_id, given, max(version, 0), business_id, tenant))
    which = {"process_id": it.process_id, "version": it.version, "definition_key": str(it.definition_key)}
    call.print({"key": str(it.key), **which}, f"created instance {it.key} of {it.process_id} version {it.version}")


@on_engine("conjoin instance cancel 2251799813685251")
def cancel(call: CommandCall, key: Annotated[int, record_key("The key of the instance.", "INSTANCE_KEY")]) -> None:
    """Cancel an instance: everything in it ends, and it waits for no messages any more."""
    call.do(lambda engine: engine.calls.cancel_instance(key))
    call.print({"key": str(key), "cancelled": True}, f"cancelled instance {key}")


@on_engine('conjoin instance set-variables 2251799813685251 --variables \'{"orderId": "o-1"}\'')
def set_variables(
    call: CommandCall,
    key: Annotated[int, record_key("An instance, or an element instance in it.", "SCOPE_KEY")],
    variables: Annotated[
        str, option("--variables", "An object as JSON, @FILE, or - for the standard input.", "JSON", show_default=True)
    ],
    local: Annotated[bool, typer.Option("--local", help="Set them in this scope, not where they are defined.")] = False,
) -> None:
    """Set variables of an instance."""
    given = read_variables(variables)
    call.do(lambda engine: engine.calls.set_variables(key, given, local))
    call.print({"key": str(key), "set": list(given)}, f"set {', '.join(given) or 'nothing'} of {key}")


@on_engine("conjoin instance resolve 2251799813685260")
def resolve(call: CommandCall, key: Annotated[int, record_key("The key of the incident.", "INCIDENT_KEY")]) -> None:
    """Resolve an incident: what failed is retried. Fix its cause first."""
    call.do(lambda engine: engine.calls.resolve_incident(key))
    call.print({"key": str(key), "resolved": True}, f"resolved incident {key}")
