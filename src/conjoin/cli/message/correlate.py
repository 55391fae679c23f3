"""conjoin message correlate: a message that is taken now or not at all."""

from typing import Annotated

import typer

from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import BusinessId, CorrelationKey, Tenant, Variables, read_variables
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT


@on_engine
def correlate_message(
    where: Where,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the message.")],
    key: CorrelationKey = "",
    variables: Variables = "{}",
    business_id: BusinessId = "",
    tenant: Tenant = DEFAULT_TENANT,
    as_json: AsJson = False,
) -> None:
    """Correlate a message now, or fail: it is never buffered.

    If no instance waits for it and it starts none, the exit code is 1; conjoin
    message publish keeps a message for those that come later.

    [bold]Example[/bold]

      conjoin message correlate paid --correlationKey o-1 --variables '{"amount": 99}'
    """
    message = NewMessage(name, key, read_variables(variables), business_id=business_id, tenant_id=tenant)
    with where.engine() as engine:
        taken = accepted(engine.correlate(message), as_json)
    told = {"key": str(taken.key), "instance_key": str(taken.instance_key)}
    tell(told, f"message {taken.key} was taken by instance {taken.instance_key}", as_json)
