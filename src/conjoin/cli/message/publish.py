"""conjoin message publish: one message, and what became of it; or a file of many."""

from pathlib import Path
from typing import Annotated, Any

import typer

from conjoin.cli.engine.port import Told
from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.message.publish_file import publish_file, publish_through
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import BusinessId, CorrelationKey, Tenant, Variables, read_ms, read_variables
from conjoin.cli.store_option import opened_broker
from conjoin.errors import InputError
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT

NOT_CORRELATED = 1

MessageName = Annotated[str | None, typer.Argument(metavar="NAME", help="The name of the message.", show_default=False)]
TimeToLive = Annotated[
    str | None,
    typer.Option(
        "--ttl",
        metavar="DURATION",
        help="How long it is kept, such as 1h. Default: from the policy",
        show_default=False,
    ),
]
MessageId = Annotated[
    str,
    typer.Option(
        "--messageId", "--id", metavar="ID", help="A second message with this id is refused.", show_default=False
    ),
]
MessageFile = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="Many messages, one JSON object per line; - is the standard input.",
        show_default=False,
    ),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="ID",
        help="With --file: the run to continue, as an interrupted one prints it; or a name for a new one.",
        show_default=False,
    ),
]
Wait = Annotated[
    str | None,
    typer.Option(
        "--wait",
        metavar="DURATION",
        help="Wait up to this long for an instance to take it; exit code 1 if none does.",
        show_default=False,
    ),
]


@on_engine
def publish(
    where: Where,
    name: MessageName = None,
    key: CorrelationKey = "",
    variables: Variables = "{}",
    ttl: TimeToLive = None,
    message_id: MessageId = "",
    business_id: BusinessId = "",
    tenant: Tenant = DEFAULT_TENANT,
    wait: Wait = None,
    file: MessageFile = None,
    resume: Resume = None,
    as_json: AsJson = False,
) -> None:
    """Publish a message, and say at once what became of it.

    A file has one message per line: name, key, variables, ttl, id, businessId,
    tenant. A line that is no message is reported and skipped; then the exit
    code is 1. If it is interrupted, the same command continues where it stopped
    and takes no line twice.

    [bold]Examples[/bold]

      conjoin message publish paid --correlationKey o-1 --variables '{"amount": 99}'

      conjoin publish message paid --key o-2 --ttl 1h --messageId payment-17

      conjoin message publish paid --key o-3 --ttl 1h --wait 30s

      conjoin message publish --file messages.jsonl
    """
    if (name is None) == (file is None):
        raise InputError(["publish takes the NAME of one message, or --file with many"])
    if resume is not None and (file is None or not resume.strip()):
        raise InputError(["--resume names a run of --file"])
    if file is not None:
        with where.client() as client:
            if client is not None:
                publish_through(client, file, resume, as_json)
                return
        with opened_broker(where.data, where.store) as broker:
            publish_file(broker, file, resume, as_json)
        return
    ttl_ms = None if ttl is None else read_ms(ttl, "--ttl")
    message = NewMessage(name or "", key, read_variables(variables), ttl_ms, message_id, business_id, tenant)
    wait_ms = None if wait is None else read_ms(wait, "--wait")
    with where.engine() as engine:
        became = accepted(engine.publish(message, wait_ms), as_json)
    tell(_as_object(became), f"message {became['message']['key']}\n{became['sentence']}", as_json)
    if wait is not None and became["verdict"] != "correlated":
        raise typer.Exit(NOT_CORRELATED)


def _as_object(became: Told) -> dict[str, Any]:
    return {
        "key": became["message"]["key"],
        **{name: became[name] for name in ("verdict", "reason", "sentence")},
        "taken_by": [
            {
                "process_id": taken.get("process", ""),
                "instance_key": str(taken.get("instance")),
                "element_id": taken.get("element", ""),
            }
            for taken in became["attempts"]
            if taken["outcome"] != "given_back"
        ],
    }
