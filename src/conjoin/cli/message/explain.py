"""conjoin message explain: what became of a message and why; by name and key also what would become of one not sent."""

from collections.abc import Iterator
from typing import Annotated

from conjoin.cli import options as o
from conjoin.cli.invocation import CommandCall, on_engine
from conjoin.cli.message.dead_letter import explain_dead_letter
from conjoin.cli.printing import JsonObject
from conjoin.cli.reading import read_ms, read_variables
from conjoin.errors import InputError
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.explain.explanation import LOST
from conjoin.runtime.explain.notes import nobody_in_words

_NAMED_IF_ANY = {"id": "message_id", "business id": "business_id"}
_RELATIONS = {"first": "the first,", "replaced_by": "sent again as", "replaces": "sent in place of"}
_OUTCOMES = {"taken": "taken by", "started": "started", "on_its_way": "on its way to", "given_back": "given back by"}


@on_engine(
    "conjoin message explain 2251799813685260",
    "conjoin message explain --name paid --key o-1",
    "conjoin message explain --name paid --key o-1 --id payment-17 --json",
    "conjoin message explain --dead-letter 17",
)
def explain(
    call: CommandCall,
    message_key: Annotated[int | None, o.record_key("As publish printed it.", "[MESSAGE_KEY]")] = None,
    name: Annotated[str | None, o.option("--name", "The name of a message, sent or not.", "NAME")] = None,
    key: o.CorrelationKey = "",
    message_id: o.MessageId = "",
    business_id: o.BusinessId = "",
    tenant: o.Tenant = DEFAULT_TENANT,
    ttl: o.TimeToLive = None,
    variables: o.Variables = "{}",
    dead_letter: Annotated[
        int | None,
        o.option("--dead-letter", "A row that never became a message, as dead-letters lists it.", "KEY"),
    ] = None,
) -> None:
    """Explain what became of a message, why, and which instances nearly took it.

    By name and key: what would become of such a message if it were published
    now, and what became of those that were, the newest first. So messages that
    were refused are found, too. Nothing is sent and nothing is changed. A row
    that never became a message (--dead-letter) is explained as far as its name
    and key can be read.
    """
    if sum(it is not None for it in (message_key, name, dead_letter)) != 1:
        raise InputError(["explain takes the key of a message, or its --name and --key"])
    if dead_letter is not None:
        letter = call.do(lambda engine: explain_dead_letter(engine, dead_letter))
        meant = in_words(letter["dry_run"]) if letter["dry_run"] is not None else ()
        call.print(letter, "\n".join([letter["sentence"], *meant]))
        return
    if message_key is not None:
        found = call.do(lambda engine: engine.explain(message_key))
        call.print(found, "\n".join(in_words(found)))
        return
    ttl_ms = None if ttl is None else read_ms(ttl, "--ttl")
    new = NewMessage(name or "", key, read_variables(variables), ttl_ms, message_id, business_id, tenant)
    named = call.do(lambda engine: engine.explain_unsent(new))
    lines = [*in_words(named["dry_run"])]
    lines += [] if named["known"] else ["No message with this name and key is known."]
    call.print(named, "\n".join([*lines, *(line for it in named["known"] for line in ("", *in_words(it)))]))


def in_words(found: JsonObject) -> Iterator[str]:
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
        which = f"instance {attempt['instance']} of " if "instance" in attempt else ""
        why = f" ({attempt['why']})" if "why" in attempt else ""
        where = f"{which}process {attempt.get('process', '')} at {attempt.get('element', '')}"
        yield f"  {_OUTCOMES[attempt['outcome']]} {where}, {attempt['offered_at']}{why}"
    # The nearest is in the sentence.
    misses = found["near_misses"]
    for miss in misses[1:] if found["verdict"] != "correlated" else misses:
        yield f"  also: {miss['text']}"
    yield from _seen(found)
    for other in found.get("related", ()):
        yield f"  {_RELATIONS[other['relation']]} message {other['message']}: {other['sentence']}"
    if found.get("nobody") is not None:
        yield from (f"  {line}" for line in nobody_in_words(found["nobody"], message["name"]))


def _seen(found: JsonObject) -> Iterator[str]:
    """When that was near; and what is near by now, where it is something else."""
    now = found.get("near_now")
    if now is not None:
        if found["near_misses"]:
            yield f"  that was near at {found['seen_at']}"
        for miss in now["near_misses"]:
            yield f"  near now, {now['looked_at']}: {miss['text']}"
        if not now["near_misses"]:
            yield f"  near now, {now['looked_at']}: nobody"
    elif found["near_misses"] and found["verdict"] in LOST and found["message"]["key"] and not found["was_kept"]:
        yield f"  nobody kept what was near when it was decided; this is what was near at {found['seen_at']}"
