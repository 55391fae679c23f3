"""Queries of the console about incidents: since when each is there, and whether resolving one has helped.

Nothing is decided here: an incident is raised, resolved and raised again by the kernel.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conjoin.gateway.queries import store as queries
from conjoin.gateway.queries.element_names import with_names
from conjoin.gateway.queries.store import Wanted
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.instances import elements_of, shown_text
from conjoin.runtime.reading.key_times import KeyTimes as KeyTimes
from conjoin.times.iso8601 import instant_text

_TIMES_WITHIN_S = 0.1
MOST_AT_ONCE = 1_000
"""So many are resolved by one form."""


def incident_page(broker: Broker, times: KeyTimes, wanted: Wanted) -> dict[str, Any]:
    """The newest first, each with its names and `since_at`."""
    found = queries.page(broker, "incidents", wanted)
    return {**found, "items": with_since(broker, times, with_names(broker, found["items"]))}


def with_since(broker: Broker, times: KeyTimes, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`since_at`: when the key of each was given out; empty if the log begins later, or there was no time."""
    found = times.of(broker, (int(it["key"]) for it in items), _TIMES_WITHIN_S)
    return [{**it, "since_at": instant_text(found[int(it["key"])]) if int(it["key"]) in found else ""} for it in items]


def incidents_wanted(broker: Broker, wanted: Wanted) -> list[int]:
    """The keys of all that match, as far as one form goes."""
    found = queries.page(broker, "incidents", wanted._replace(limit=MOST_AT_ONCE))
    return [int(it["key"]) for it in found["items"]]


def incident_rows(broker: Broker, keys: Iterable[int]) -> list[Any]:
    """Those that are still open."""
    return list(rows_with(broker, "incident", keys).values())


def raised_again(broker: Broker, rows: Sequence[Any]) -> dict[int, str]:
    """Of incidents that were resolved, those whose element has one again, each with what happened this time."""
    instances = rows_with(broker, "instance", (row.instance_key for row in rows))
    now = {
        (its.key, element.key): element.incident_key
        for its in instances.values()
        for element in elements_of(its)
        if element.incident_key
    }
    again = {row.key: now[place] for row in rows if (place := (row.instance_key, row.element_key)) in now}
    texts = rows_with(broker, "incident", again.values())
    return {
        key: shown_text(broker.hiding, texts[new].text, instances[texts[new].instance_key])
        for key, new in again.items()
        if new in texts
    }
