"""conjoin message signal: broadcasts a signal to everybody who waits for it."""

from typing import Annotated

import typer

from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import Tenant, Variables, read_variables
from conjoin.runtime.engine.catalog import DEFAULT_TENANT


@on_engine
def signal(
    where: Where,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the signal.")],
    variables: Variables = "{}",
    tenant: Tenant = DEFAULT_TENANT,
    as_json: AsJson = False,
) -> None:
    """Broadcast a signal: it reaches every instance that waits for it now, and starts processes; it is never buffered.

    [bold]Examples[/bold]

      conjoin message signal closing-time

      conjoin broadcast signal closing-time --variables '{"shop": 7}'
    """
    given = read_variables(variables)
    with where.engine() as engine:
        accepted(engine.broadcast_signal(name, given, tenant), as_json)
    tell({"signal": name, "broadcast": True}, f"broadcast signal {name}", as_json)
