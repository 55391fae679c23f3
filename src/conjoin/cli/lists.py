"""conjoin message list, instance list and so on: what a store holds, filtered and in pages. One table of lists."""

from collections.abc import Callable
from typing import Annotated, Any

from conjoin.cli.invocation import ENGINE, LINES, CommandCall, command, on_engine
from conjoin.cli.message.explain import in_words
from conjoin.cli.options import PERIOD, After, Limit, filters, option, record_key
from conjoin.runtime.codec.json_text import json_text

_WHERE = ("process", "instance", "element")


def _list(what: str, columns: str, help: str, chosen: dict[str, Any], *examples: str) -> Callable[..., None]:
    """`what` is one of the lists of a store."""

    def listed(call: CommandCall, limit: Limit = 50, after: After = None) -> None:
        page = call.do(lambda engine: engine.page(what, call.query(engine.now, limit, after)))
        call.print_page(page, columns.split(), f"no {what.replace('-', ' ')}")

    listed.__doc__ = help
    return command(ENGINE, *examples, json=LINES, filters=chosen)(listed)


list_messages = _list(
    "messages",
    "key name correlation_key published_at verdict reason attempts",
    "List messages, each with its verdict and the instances that got it.",
    filters(
        *("name", "key", "process", "instance", "id", "business_id", "tenant"),
        verdict="Such as buffered or expired.",
        reason="Such as nobody_waits.",
        state="buffered, expired, held or none.",
    )
    | {"replaced": Annotated[bool | None, option("--replaced/--no-replaced", "Only if sent again, or not.")]}
    | PERIOD,
    "conjoin message list --verdict expired --since 1h",
    "conjoin message list --name paid --key o-1 --json",
)
list_subscriptions = _list(
    "subscriptions",
    "key name correlation_key process_id instance_key element_id state",
    "List who waits for which message; of those that are closed, the last of each name and key is kept.",
    filters("name", "key", *_WHERE, "business_id", "tenant", state="open, busy or closed.") | PERIOD,
    "conjoin message subscriptions --name paid --state open",
)
list_instances = _list(
    "instances",
    "key process_id version state started started_at ended_at incidents",
    "List process instances, running and ended.",
    filters("process", "business_id", "tenant", state="active, completed or terminated.")
    | {
        "version": Annotated[int | None, option("--version", "Only of this version.")],
        "incidents": Annotated[bool | None, option("--incidents/--no-incidents", "Only with open ones.")],
        "parent": Annotated[int | None, option("--parent", "Only called by this instance.", "KEY")],
    }
    | PERIOD,
    "conjoin instance list --process order --state active --incidents",
)
list_incidents = _list(
    "incidents",
    "key process_id instance_key element_id error_type text",
    "List open incidents: what keeps instances from going on.",
    filters(*_WHERE, "tenant", type="Such as JOB_NO_RETRIES."),
    "conjoin instance incidents --process order",
)
list_jobs = _list(
    "jobs",
    "key type state process_id instance_key element_id retries worker due_at",
    "List open jobs, and which worker has them.",
    filters(
        *(*_WHERE, "tenant"),
        type="Only of this type.",
        state="Such as ready or activated.",
        worker="Only of this worker.",
    ),
    "conjoin job list --type ship --state ready",
)
list_dead_letters = _list(
    "dead-letters",
    "key source part position reason text found_at",
    "List rows that ingest could make no message of. --json shows the row itself.",
    filters(
        source="Only of this source.", part="Only of this file or partition.", reason="Such as unreadable or bad_ttl."
    )
    | PERIOD,
    "conjoin store dead-letters --reason unreadable --since 1d",
)


@on_engine("conjoin message show 2251799813685260")
def show_message(
    call: CommandCall, message_key: Annotated[int, record_key("As publish printed it.", "MESSAGE_KEY")]
) -> None:
    """Show one message: its variables, and what explain says of it."""
    found = call.do(lambda engine: engine.explain(message_key))
    call.print(found, "\n".join([*in_words(found), f"  variables {json_text(found['message']['variables'])}"]))
