"""conjoin message publish, correlate, signal: one message or signal, and what became of it; or a file of messages."""

from pathlib import Path
from typing import Annotated

import typer

from conjoin.cli.invocation import CommandCall, on_engine
from conjoin.cli.message.publish_file import Counts, publish_file, publish_through
from conjoin.cli.options import BusinessId, CorrelationKey, MessageId, Tenant, TimeToLive, Variables, option
from conjoin.cli.reading import read_ms, read_variables
from conjoin.errors import InputError
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT

NOT_CORRELATED = LOST = 1
_LOST = ("discarded", "refused", "expired")
_NAME = typer.Argument(metavar="NAME", help="The name of the message.", show_default=False)


@on_engine(
    "conjoin message publish paid --correlationKey o-1 --variables '{\"amount\": 99}'",
    "conjoin publish message paid --key o-2 --ttl 1h --messageId payment-17",
    "conjoin message publish paid --key o-3 --ttl 1h --wait 30s",
    "conjoin message publish paid --key o-4 --replaces 2251799813685260",
    "conjoin message publish --file messages.jsonl",
)
def publish(
    call: CommandCall,
    name: Annotated[str | None, _NAME] = None,
    key: CorrelationKey = "",
    variables: Variables = "{}",
    ttl: TimeToLive = None,
    message_id: MessageId = "",
    business_id: BusinessId = "",
    tenant: Tenant = DEFAULT_TENANT,
    wait: Annotated[
        str | None,
        option("--wait", "Wait up to this long for an instance to take it; exit code 1 if none does.", "DURATION"),
    ] = None,
    file: Annotated[
        Path | None, option("--file", "Many messages, one JSON object per line; - is the standard input.", "FILE")
    ] = None,
    resume: Annotated[
        str | None,
        option(
            *(
                "--resume",
                "With --file: the run to continue, as an interrupted one prints it; or a name for a new one.",
            ),
            "ID",
        ),
    ] = None,
    replaces: Annotated[
        int | None,
        option("--replaces", "A lost message, in place of which this one is sent.", "KEY", min=0, max=LARGEST_INT64),
    ] = None,
    fail_if_lost: Annotated[
        bool, typer.Option("--fail-if-lost", help="Exit code 1 if a message was discarded, refused or has expired.")
    ] = False,
) -> None:
    """Publish a message, and say at once what became of it.

    A file has one message per line: name, key, variables, ttl, id, businessId,
    tenant. A line that is no message is reported and skipped; then the exit
    code is 1. If it is interrupted, the same command continues where it stopped
    and takes no line twice.
    """
    if (name is None) == (file is None):
        raise InputError(["publish takes the NAME of one message, or --file with many"])
    if resume is not None and (file is None or not resume.strip()):
        raise InputError(["--resume names a run of --file"])
    if replaces is not None and file is not None:
        raise InputError(["--replaces is for one message, not for a --file"])
    if file is not None:
        found = _published(call, file, resume)
        if fail_if_lost and any(verdict in _LOST for verdict, _ in found):
            raise typer.Exit(LOST)
        return
    ttl_ms = None if ttl is None else read_ms(ttl, "--ttl")
    message = NewMessage(name or "", key, read_variables(variables), ttl_ms, message_id, business_id, tenant)
    wait_ms = None if wait is None else read_ms(wait, "--wait")
    became = call.do(lambda engine: engine.publish(message, wait_ms, replaces))
    taken_by = [
        {
            "process_id": it.get("process", ""),
            "instance_key": str(it.get("instance")),
            "element_id": it.get("element", ""),
        }
        for it in became["attempts"]
        if it["outcome"] != "given_back"
    ]
    about = {name: became[name] for name in ("verdict", "reason", "sentence")}
    message_key = became["message"]["key"]
    call.print({"key": message_key, **about, "taken_by": taken_by}, f"message {message_key}\n{became['sentence']}")
    if wait is not None and became["verdict"] != "correlated":
        raise typer.Exit(NOT_CORRELATED)
    if fail_if_lost and became["verdict"] in _LOST:
        raise typer.Exit(LOST)


def _published(call: CommandCall, file: Path, resume: str | None) -> Counts:
    """Every line of a file, and what became of them."""
    with call.client() as client:
        if client is not None:
            return publish_through(call, client, file, resume)
    with call.broker() as broker:
        return publish_file(call, broker, file, resume)


@on_engine("conjoin message correlate paid --correlationKey o-1 --variables '{\"amount\": 99}'")
def correlate_message(
    call: CommandCall,
    name: Annotated[str, _NAME],
    key: CorrelationKey = "",
    variables: Variables = "{}",
    business_id: BusinessId = "",
    tenant: Tenant = DEFAULT_TENANT,
) -> None:
    """Correlate a message now, or fail: it is never buffered.

    If no instance waits for it and it starts none, the exit code is 1; conjoin
    message publish keeps a message for those that come later.
    """
    message = NewMessage(name, key, read_variables(variables), business_id=business_id, tenant_id=tenant)
    taken = call.do(lambda engine: engine.correlate(message))
    keys = {"key": str(taken.key), "instance_key": str(taken.instance_key)}
    call.print(keys, f"message {taken.key} was taken by instance {taken.instance_key}")


@on_engine(
    "conjoin message signal closing-time",
    "conjoin broadcast signal closing-time --variables '{\"shop\": 7}'",
)
def signal(
    call: CommandCall,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the signal.")],
    variables: Variables = "{}",
    tenant: Tenant = DEFAULT_TENANT,
) -> None:
    """Broadcast a signal: it reaches all instances that wait for it now, and starts processes; it is never buffered."""
    given = read_variables(variables)
    call.do(lambda engine: engine.calls.broadcast_signal(name, given, tenant))
    call.print({"signal": name, "broadcast": True}, f"broadcast signal {name}")
