"""conjoin message explain: what became of a message and why; by name and key also what would become of one not sent."""

from collections.abc import Iterator
from typing import Annotated

import typer

from conjoin.cli.engine.port import Told
from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.message.publish import MessageId, TimeToLive
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import BusinessId, CorrelationKey, Tenant, Variables, read_ms, read_variables
from conjoin.errors import InputError
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT

MessageKey = Annotated[
    int | None,
    typer.Argument(
        min=0, max=LARGEST_INT64, metavar="[MESSAGE_KEY]", help="As publish printed it.", show_default=False
    ),
]
MessageName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="The name of a message, sent or not.", show_default=False)
]


@on_engine
def explain(
    where: Where,
    message_key: MessageKey = None,
    name: MessageName = None,
    key: CorrelationKey = "",
    message_id: MessageId = "",
    business_id: BusinessId = "",
    tenant: Tenant = DEFAULT_TENANT,
    ttl: TimeToLive = None,
    variables: Variables = "{}",
    as_json: AsJson = False,
) -> None:
    """Explain what became of a message, why, and which instances nearly took it.

    By name and key: what would become of such a message if it were published
    now, and what became of those that were, the newest first. So messages that
    were refused are found, too. Nothing is sent and nothing is changed.

    [bold]Examples[/bold]

      conjoin message explain 2251799813685260

      conjoin message explain --name paid --key o-1

      conjoin message explain --name paid --key o-1 --id payment-17 --json
    """
    if (message_key is None) == (name is None):
        raise InputError(["explain takes the key of a message, or its --name and --key"])
    if message_key is not None:
        with where.engine() as engine:
            found = accepted(engine.explain(message_key), as_json)
        tell(found, "\n".join(in_words(found)), as_json)
        return
    ttl_ms = None if ttl is None else read_ms(ttl, "--ttl")
    new = NewMessage(name or "", key, read_variables(variables), ttl_ms, message_id, business_id, tenant)
    with where.engine() as engine:
        named = accepted(engine.explain_unsent(new), as_json)
    tell(named, "\n".join(_named_in_words(named)), as_json)


def in_words(found: Told) -> Iterator[str]:
    """The sentence, and below it what it is made of."""
    message = found["message"]
    yield found["sentence"]
    if found.get("still_buffered") is not None:
        yield found["still_buffered"]["sentence"]
    if message["key"] is not None:
        identity = "".join(f", {what} {message[field]}" for what, field in _NAMED_IF_ANY.items() if message[field])
        yield f"  message {message['key']}{identity}, published at {message['published_at']}"
        yield f"  decided at {found['decided_at']}: {found['verdict']}, {found['reason']}"
    for attempt in found["attempts"]:
        yield f"  {_attempt_in_words(attempt)}"
    # The nearest is in the sentence.
    misses = found["near_misses"]
    for miss in misses[1:] if found["verdict"] != "correlated" else misses:
        yield f"  also: {miss['text']}"


_NAMED_IF_ANY = {"id": "message_id", "business id": "business_id"}
_OUTCOMES = {"taken": "taken by", "started": "started", "on_its_way": "on its way to", "given_back": "given back by"}


def _attempt_in_words(attempt: Told) -> str:
    which = f"instance {attempt['instance']} of " if "instance" in attempt else ""
    why = f" ({attempt['why']})" if "why" in attempt else ""
    where = f"{which}process {attempt.get('process', '')} at {attempt.get('element', '')}"
    return f"{_OUTCOMES[attempt['outcome']]} {where}, {attempt['offered_at']}{why}"


def _named_in_words(named: Told) -> Iterator[str]:
    yield from in_words(named["dry_run"])
    if not named["known"]:
        yield "No message with this name and key is known."
    for found in named["known"]:
        yield ""
        yield from in_words(found)
