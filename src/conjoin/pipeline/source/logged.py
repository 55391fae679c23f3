"""Events of the log as rows: each with its place in its commit and the request that it followed from.

The log names records by their keys and says little else of them; what is asked of a row here is what it says. The name
and correlation key of a message stand in the request alone.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from conjoin.kernel.process.commands import DeliverMessage, ForKey
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.run.log import LoggedEvent, read_block

_OF_INSTANCES = ("InstanceCreated", "InstanceCompleted", "InstanceTerminated")


def events_of(block: bytes) -> Iterator[tuple[int, Any, LoggedEvent]]:
    """Numbered from 1."""
    number = 0
    for entry in read_block(block):
        for event in entry.events:
            number += 1
            yield number, entry.request, event


def name_of(request: Any) -> str:
    """What was asked for; `NewMessage` is a publication or a synchronous correlation."""
    return type(request.command if isinstance(request, ForKey) else request).__name__


def message_name_of(request: Any) -> str | None:
    """Of the message or subscription that the request carries."""
    if isinstance(request, NewMessage):
        return request.name
    order = request.command if isinstance(request, ForKey) else request
    carried = getattr(order, "subscription", None) or getattr(order, "message", None)
    return getattr(carried, "name", None)


def correlation_key_of(request: Any) -> str | None:
    return request.key if isinstance(request, (NewMessage, ForKey, DeliverMessage)) else None


def tenant_ids(_: Broker, requests: Iterable[Any], events: Iterable[LoggedEvent]) -> Iterator[str | None]:
    for request, event in zip(requests, events, strict=True):
        yield event.values.get("tenant_id") or getattr(request, "tenant_id", None)


def key_of(event: LoggedEvent) -> int | None:
    """What it happened to: an instance, element, job, timer, incident or subscription."""
    return event.values.get("key", event.values.get("subscription"))


def message_key_of(event: LoggedEvent) -> int | None:
    found = event.values.get("message")
    # What a worker says about a failed job is a message, too.
    return found if isinstance(found, int) else None


def instance_key_of(event: LoggedEvent) -> int | None:
    """Where the event itself names it; what is inside an instance is named by its own key only."""
    return key_of(event) if event.kind in _OF_INSTANCES else event.values.get("instance_id")
