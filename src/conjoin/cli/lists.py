"""conjoin message list, instances list and so on: what a store holds, filtered and in pages."""

from typing import Annotated, Any, NamedTuple

import typer

from conjoin.cli.engine.on_store import OnStore
from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.list_options import (
    After,
    Business,
    Element,
    Instance,
    Key,
    Limit,
    Lines,
    Name,
    Process,
    Since,
    TenantId,
    Until,
    print_page,
    read_when,
)
from conjoin.cli.message.explain import in_words
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.store_option import Data, StoreUrl, opened_broker
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.reading.lists import ListQuery

_COLUMNS = {
    "messages": ("key", "name", "correlation_key", "published_at", "verdict", "reason", "attempts"),
    "subscriptions": ("key", "name", "correlation_key", "process_id", "instance_key", "element_id", "state"),
    "instances": ("key", "process_id", "version", "state", "started", "started_at", "ended_at", "incidents"),
    "incidents": ("key", "process_id", "instance_key", "element_id", "error_type", "text"),
    "jobs": ("key", "type", "state", "process_id", "instance_key", "element_id", "retries", "worker", "due_at"),
    "dead-letters": ("key", "source", "part", "position", "reason", "text", "found_at"),
}


class _Typed(NamedTuple):
    """Which page and which time, as they were typed."""

    limit: int
    after: str | None
    since: str | None = None
    until: str | None = None


def _show(what: str, filters: dict[str, Any], where: Where, typed: _Typed, as_json: bool) -> None:
    with where.engine() as engine:
        page = accepted(engine.page(what, _asked(filters, typed, engine.now)), as_json)
    print_page(page, _COLUMNS[what], f"no {what.replace('-', ' ')}", as_json)


def _asked(filters: dict[str, Any], typed: _Typed, now: int) -> ListQuery:
    given = {name: value for name, value in filters.items() if value is not None}
    since, until = read_when(typed.since, "--since", now), read_when(typed.until, "--until", now)
    return ListQuery(given, since, until, typed.limit, typed.after)


@on_engine
def list_messages(
    where: Where,
    name: Name = None,
    key: Key = None,
    verdict: Annotated[str | None, typer.Option(help="Such as buffered or expired.", show_default=False)] = None,
    reason: Annotated[str | None, typer.Option(help="Such as nobody_waits.", show_default=False)] = None,
    state: Annotated[str | None, typer.Option(help="buffered, expired, held or none.", show_default=False)] = None,
    process: Process = None,
    instance: Instance = None,
    message_id: Annotated[str | None, typer.Option("--messageId", "--id", metavar="ID", show_default=False)] = None,
    business_id: Business = None,
    tenant: TenantId = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    as_json: Lines = False,
) -> None:
    """List messages, each with its verdict and those who were given it.

    [bold]Examples[/bold]

      conjoin message list --verdict expired --since 1h

      conjoin message list --name paid --key o-1 --json
    """
    filters: dict[str, Any] = {
        "name": name,
        "key": key,
        "verdict": verdict,
        "reason": reason,
        "state": state,
        "process": process,
    }
    filters |= {"instance": instance, "id": message_id, "business_id": business_id, "tenant": tenant}
    _show("messages", filters, where, _Typed(limit, after, since, until), as_json)


@on_engine
def show_message(
    where: Where,
    message_key: Annotated[
        int, typer.Argument(min=0, max=LARGEST_INT64, metavar="MESSAGE_KEY", help="As publish printed it.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show one message: its variables, and what explain says of it.

    [bold]Example[/bold]

      conjoin message show 2251799813685260
    """
    with where.engine() as engine:
        found = accepted(engine.explain(message_key), as_json)
    lines = [*in_words(found), f"  variables {json_text(found['message']['variables'])}"]
    tell(found, "\n".join(lines), as_json)


@on_engine
def list_subscriptions(
    where: Where,
    name: Name = None,
    key: Key = None,
    process: Process = None,
    instance: Instance = None,
    element: Element = None,
    state: Annotated[str | None, typer.Option(help="open, busy or closed.", show_default=False)] = None,
    business_id: Business = None,
    tenant: TenantId = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    as_json: Lines = False,
) -> None:
    """List who waits for which message; of those that are closed, the last of each name and key is kept.

    [bold]Example[/bold]

      conjoin message subscriptions --name paid --state open
    """
    filters: dict[str, Any] = {"name": name, "key": key, "process": process, "instance": instance, "element": element}
    filters |= {"state": state, "business_id": business_id, "tenant": tenant}
    _show("subscriptions", filters, where, _Typed(limit, after, since, until), as_json)


@on_engine
def list_instances(
    where: Where,
    process: Process = None,
    version: Annotated[int | None, typer.Option(help="Only of this version.", show_default=False)] = None,
    state: Annotated[str | None, typer.Option(help="active, completed or terminated.", show_default=False)] = None,
    incidents: Annotated[
        bool | None, typer.Option("--incidents/--no-incidents", help="Only with open ones.", show_default=False)
    ] = None,
    parent: Annotated[int | None, typer.Option(metavar="KEY", help="Only called by it.", show_default=False)] = None,
    business_id: Business = None,
    tenant: TenantId = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    as_json: Lines = False,
) -> None:
    """List process instances, running and ended.

    [bold]Example[/bold]

      conjoin instance list --process order --state active --incidents
    """
    filters: dict[str, Any] = {
        "process": process,
        "version": version,
        "state": state,
        "incidents": incidents,
        "parent": parent,
    }
    filters |= {"business_id": business_id, "tenant": tenant}
    _show("instances", filters, where, _Typed(limit, after, since, until), as_json)


@on_engine
def list_incidents(
    where: Where,
    process: Process = None,
    instance: Instance = None,
    element: Element = None,
    type_: Annotated[str | None, typer.Option("--type", help="Such as JOB_NO_RETRIES.", show_default=False)] = None,
    tenant: TenantId = None,
    limit: Limit = 50,
    after: After = None,
    as_json: Lines = False,
) -> None:
    """List open incidents: what keeps instances from going on.

    [bold]Example[/bold]

      conjoin instance incidents --process order
    """
    filters: dict[str, Any] = {
        "process": process,
        "instance": instance,
        "element": element,
        "type": type_,
        "tenant": tenant,
    }
    _show("incidents", filters, where, _Typed(limit, after), as_json)


@on_engine
def list_jobs(
    where: Where,
    type_: Annotated[str | None, typer.Option("--type", help="Only of this type.", show_default=False)] = None,
    state: Annotated[str | None, typer.Option(help="Such as ready or activated.", show_default=False)] = None,
    process: Process = None,
    instance: Instance = None,
    element: Element = None,
    worker: Annotated[str | None, typer.Option(help="Only those it has.", show_default=False)] = None,
    tenant: TenantId = None,
    limit: Limit = 50,
    after: After = None,
    as_json: Lines = False,
) -> None:
    """List open jobs, and who has them.

    [bold]Example[/bold]

      conjoin job list --type ship --state ready
    """
    filters: dict[str, Any] = {
        "type": type_,
        "state": state,
        "process": process,
        "instance": instance,
        "element": element,
    }
    filters |= {"worker": worker, "tenant": tenant}
    _show("jobs", filters, where, _Typed(limit, after), as_json)


def list_dead_letters(
    source: Annotated[str | None, typer.Option(help="Only of this source.", show_default=False)] = None,
    part: Annotated[str | None, typer.Option(help="Only of this file or partition.", show_default=False)] = None,
    reason: Annotated[str | None, typer.Option(help="Such as unreadable or bad_ttl.", show_default=False)] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    data: Data = None,
    store: StoreUrl = None,
    as_json: Lines = False,
) -> None:
    """List rows that ingest could make no message of. --json shows what stood there.

    [bold]Example[/bold]

      conjoin store dead-letters --reason unreadable --since 1d
    """
    filters: dict[str, Any] = {"source": source, "part": part, "reason": reason}
    with opened_broker(data, store) as broker:
        page = OnStore(broker).page("dead-letters", _asked(filters, _Typed(limit, after, since, until), broker.now))
    print_page(page, _COLUMNS["dead-letters"], "no dead letters", as_json)
