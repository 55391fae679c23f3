"""The figures of the overview: the message rate of the last hour with its plot, how much is open, how the inbox is.

How much is open is counted up to a number, and the more seldom the longer that takes; all visitors share one count.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from conjoin.console.attention import Known
from conjoin.console.filters import instant
from conjoin.console.message_rate import HOUR_US, Fates, Minute
from conjoin.console.page_request import Console
from conjoin.errors import StoreDamaged, StoreFailed
from conjoin.gateway.queries import store as queries
from conjoin.gateway.queries.commits import committed_since
from conjoin.gateway.queries.element_names import with_names
from conjoin.markup import Markup
from conjoin.plots import ColumnPart, Pillar, columns

VERDICTS = ("correlated", "buffered", "waiting", "expired", "discarded", "refused", "short")
_LABEL_EVERY = 10
_KEPT_S = 1.5
_PATIENCE_S = 0.1
_SHARE = 20
"""Counting takes no more than this part of the time."""


_OTHERS_WITHIN_S = 0.2
_PARKED = queries.Wanted({"state": "parked"}, limit=1)
_ANY = queries.Wanted({}, limit=1)


class Open(NamedTuple):
    """`newest` has the newest incident, parked message and dead letter, by the codes of `attention`."""

    counts: Mapping[str, int | None]
    oldest_buffered_at: int | None
    inbox_states: Mapping[str, int]
    oldest_due_ms: int
    dead_letters: int
    newest: Mapping[str, Mapping[str, Any]]

    @property
    def is_counted(self) -> bool:
        """Otherwise nothing is known yet, which is not the same as that nothing is wrong."""
        return None not in self.counts.values()


_NOT_YET = Open(dict.fromkeys(queries.COUNTED), None, {}, 0, 0, {})


class OverviewCounts:
    """One count at a time, in the background; a page waits for it only a moment."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._counting: asyncio.Task[None] | None = None
        self._known = _NOT_YET
        self._until = 0.0

    async def open(self) -> Open:
        if time.monotonic() >= self._until and (self._counting is None or self._counting.done()):
            self._counting = asyncio.create_task(self._count())
        if self._counting is not None:
            await asyncio.wait([self._counting], timeout=_PATIENCE_S)
        return self._known

    async def _count(self) -> None:
        began = time.monotonic()
        self._known = await self._console.gateway.service.look(self._counted)
        ended = time.monotonic()
        self._until = ended + max(_KEPT_S, _SHARE * (ended - began))

    def _counted(self) -> Open:
        service = self._console.gateway.service
        self._follow_others(service.broker)
        gauges = service.inbox.gauges() if service.inbox is not None else None
        return Open(
            queries.open_counts(service.broker),
            queries.oldest_buffered_at(service.broker),
            dict(gauges.states) if gauges else {},
            gauges.oldest_due_ms if gauges else 0,
            queries.count(service.broker, "dead-letters", _ANY) or 0,
            dict(self._newest(service.broker, bool(gauges and gauges.states.get("parked")))),
        )

    def _newest(self, broker: Any, has_parked: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
        incidents = queries.page(broker, "incidents", _ANY)["items"]
        letters = queries.page(broker, "dead-letters", _ANY)["items"]
        parked = queries.page(broker, "inbox", _PARKED)["items"] if has_parked else []
        found = {"incidents": with_names(broker, incidents), "dead_letters": letters, "parked": parked}
        return ((code, items[0]) for code, items in found.items() if items)

    def _follow_others(self, broker: Any) -> None:
        """What other processes have committed is counted, too."""
        pace = self._console.pace
        since, within_s = broker.now - HOUR_US, _OTHERS_WITHIN_S / broker.shard_count
        for shard, (followed, ours) in pace.followed().items():
            # A shard that cannot be read is told of as such; the others are counted.
            with suppress(StoreDamaged, StoreFailed):
                commits, reached = committed_since(broker, shard, followed, since, ours.__contains__, within_s)
                pace.others(shard, commits, reached)


def known_troubles(minutes: list[Minute], is_open: Open, supervisor: Any) -> Known:
    fates = in_the_hour(minutes)
    lost = [(fate, count) for fate, count in fates.items() if fate[0] in queries.LOST and fate[1] != "duplicate_id"]
    counts = {
        "incidents": is_open.counts["open_incidents"] or 0,
        "parked": is_open.inbox_states.get("parked", 0),
        "dead_letters": is_open.dead_letters,
    }
    failing = [it for it in supervisor.report() if it.state != "ok"]
    aside = sum(supervisor.set_aside.values())
    return Known(counts, is_open.newest, lost, failing, supervisor.refused_notices, aside)


def in_the_hour(minutes: list[Minute]) -> Fates:
    """What was decided, by verdict and reason."""
    return sum((minute.decided for minute in minutes), Counter())


def tiles(minutes: list[Minute], is_open: Open, now: int) -> dict[str, Any]:
    """The numbers that are shown large, by their name on the page."""
    decided = in_the_hour(minutes)
    since = is_open.oldest_buffered_at
    return {
        "published": sum(minute.published for minute in minutes),
        "last_minute": minutes[-2].published,
        "correlated": sum(count for (verdict, _), count in decided.items() if verdict == "correlated"),
        **is_open.counts,
        "buffered_for_s": 0 if since is None else max(now - since, 0) // 1_000_000,
        **{f"inbox_{state}": is_open.inbox_states.get(state, 0) for state in ("waiting", "parked")},
        "inbox_due_s": is_open.oldest_due_ms // 1_000,
    }


def hour_plot(minutes: list[Minute]) -> Markup:
    """A column for each minute, made of its verdicts."""
    labelled = [number for number, minute in enumerate(minutes) if minute.at // 60_000_000 % _LABEL_EVERY == 0]
    pillars = []
    for minute in minutes:
        counts = {verdict: sum(n for (it, _), n in minute.decided.items() if it == verdict) for verdict in VERDICTS}
        parts = [ColumnPart(verdict, verdict, count) for verdict, count in counts.items()]
        pillars.append(Pillar(instant(minute.at)[11:16], parts))
    return columns(pillars, "Verdicts in each minute of the last hour", labelled)
