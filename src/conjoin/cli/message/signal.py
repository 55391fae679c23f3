"""conjoin message signal: broadcasts a signal to everybody who waits for it."""

from typing import Annotated

import typer

from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import Tenant, Variables, read_variables
from conjoin.cli.store_option import Data, StoreUrl, opened_broker
from conjoin.runtime.engine.catalog import DEFAULT_TENANT


def signal(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the signal.")],
    variables: Variables = "{}",
    tenant: Tenant = DEFAULT_TENANT,
    data: Data = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Broadcast a signal: it reaches every instance that waits for it now, and starts processes; it is never kept.

    [bold]Examples[/bold]

      conjoin message signal closing-time

      conjoin broadcast signal closing-time --variables '{"shop": 7}'
    """
    given = read_variables(variables)
    with opened_broker(data, store) as broker:
        accepted(broker.broadcast_signal(name, given, tenant), as_json)
    tell({"signal": name, "broadcast": True}, f"broadcast signal {name}", as_json)
