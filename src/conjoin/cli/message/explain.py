"""conjoin message explain: what became of a message and why; by name and key also what would become of one not sent."""

from collections.abc import Iterator
from typing import Annotated

import typer

from conjoin.cli.message.publish import MessageId, TimeToLive
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import BusinessId, CorrelationKey, Tenant, Variables, read_ms, read_variables
from conjoin.cli.store_option import Data, StoreUrl, opened_broker
from conjoin.errors import InputError
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.kernel.verdicts.sentences import near_miss
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.explain.explain import NamedExplanation, explain_named
from conjoin.runtime.explain.explain import explain as explain_message
from conjoin.runtime.explain.explanation import Attempt, Explanation
from conjoin.runtime.visibility.plain_values import told

MessageKey = Annotated[
    int | None,
    typer.Argument(
        min=0, max=LARGEST_INT64, metavar="[MESSAGE_KEY]", help="As publish printed it.", show_default=False
    ),
]
MessageName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="The name of a message, sent or not.", show_default=False)
]


def explain(
    message_key: MessageKey = None,
    name: MessageName = None,
    key: CorrelationKey = "",
    message_id: MessageId = "",
    business_id: BusinessId = "",
    tenant: Tenant = DEFAULT_TENANT,
    ttl: TimeToLive = None,
    variables: Variables = "{}",
    data: Data = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Say what became of a message, why, and who came near to taking it.

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
        with opened_broker(data, store) as broker:
            found = accepted(explain_message(broker, message_key), as_json)
        tell(found.as_json(), "\n".join(in_words(found)), as_json)
        return
    ttl_ms = None if ttl is None else read_ms(ttl, "--ttl")
    new = NewMessage(name or "", key, read_variables(variables), ttl_ms, message_id, business_id, tenant)
    with opened_broker(data, store) as broker:
        named = explain_named(broker, new)
    tell(named.as_json(), "\n".join(_named_in_words(named)), as_json)


def in_words(found: Explanation) -> Iterator[str]:
    """The sentence, and below it what it is made of."""
    said = told(found.message)
    yield found.sentence
    if found.still_buffered is not None:
        yield found.still_buffered.sentence
    if found.message.key is not None:
        identity = "".join(f", {what} {said[field]}" for what, field in _NAMED_IF_ANY.items() if said[field])
        yield f"  message {said['key']}{identity}, published at {said['published_at']}"
        yield f"  decided at {told({'decided_at': found.decided_at})['decided_at']}: {found.verdict}, {found.reason}"
    for attempt in found.attempts:
        yield f"  {_attempt_in_words(attempt)}"
    # The nearest is in the sentence.
    others = found.near_misses[1:] if found.verdict != "correlated" else found.near_misses
    for miss in others:
        yield f"  also: {near_miss(told(miss))}"


_NAMED_IF_ANY = {"id": "message_id", "business id": "business_id"}
_OUTCOMES = {"taken": "taken by", "started": "started", "on_its_way": "on its way to", "given_back": "given back by"}


def _attempt_in_words(attempt: Attempt) -> str:
    said = told(attempt)
    which = f"instance {said['instance']} of " if attempt.instance is not None else ""
    why = f" ({attempt.why})" if attempt.why else ""
    where = f"{which}process {attempt.process} at {attempt.element}"
    return f"{_OUTCOMES[attempt.outcome]} {where}, {said['offered_at']}{why}"


def _named_in_words(named: NamedExplanation) -> Iterator[str]:
    yield from in_words(named.dry_run)
    if not named.known:
        yield "No message with this name and key is known."
    for found in named.known:
        yield ""
        yield from in_words(found)
