"""The overview: what needs attention, why, and the action for it; then the traffic. Live while the page is open.

The stream sends the figures every two seconds; it ends when the server stops, and browsers connect again.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import Response, StreamingResponse

from conjoin.console.attention import troubles
from conjoin.console.figures import VERDICTS, OverviewCounts, hour_plot, in_the_hour, known_troubles, tiles
from conjoin.console.filters import amount, duration
from conjoin.console.fixes import with_fixes
from conjoin.console.page_request import HEADERS, Console, Page, Visit
from conjoin.gateway.http.problems import HttpProblem
from conjoin.gateway.queries import store as queries

EVERY_S = 2.0
_LOOKED_AT, _SHOWN = 200, 5
_MOST_REASONS = 8
_STEP_S = 0.25


def overview_pages(console: Console) -> tuple[Page, Page]:
    """The page, and the stream of its figures."""
    figures = OverviewCounts(console)

    async def page(visit: Visit) -> Response:
        minutes, is_open = console.pace.minutes(visit.service.broker.now), await figures.open()
        known = known_troubles(minutes, is_open, visit.service.broker.supervisor)
        return await visit.show(
            "overview.html",
            tiles=_as_shown(tiles(minutes, is_open, visit.service.broker.now)),
            plot=hour_plot(minutes),
            verdicts=[it for it in VERDICTS if any(verdict == it for verdict, _ in in_the_hour(minutes))],
            troubles=troubles(known),
            is_counted=is_open.is_counted,
            reasons=sorted(known.lost, key=lambda it: -it[1])[:_MOST_REASONS],
            all_lost=sum(count for _, count in known.lost),
            lost=await _lost(visit),
        )

    async def stream(visit: Visit) -> Response:
        headers = {**HEADERS, "X-Accel-Buffering": "no"}
        return StreamingResponse(_events(console, figures), media_type="text/event-stream", headers=headers)

    return page, stream


async def _lost(visit: Visit) -> list[dict[str, Any]]:
    """The newest messages that were not taken, each explained; of those that are alike, one."""
    alike: dict[tuple[str, str], list[int]] = {}
    for row in await visit.ask(queries.newest_lost, _LOOKED_AT):
        if row.reason != "duplicate_id":
            alike.setdefault((row.name, row.reason), []).append(row.key)
    lost = []
    for keys in list(alike.values())[:_SHOWN]:
        try:
            it = await visit.ask(queries.explained, keys[0])
        except HttpProblem:
            # It is gone by now.
            continue
        if it["verdict"] != "correlated":
            misses = with_fixes(it["message"], it["near_misses"])
            actions = [miss["action"] for miss in misses if miss["action"] and not miss["is_guess"]]
            lost.append({**it, "action": actions[0] if actions else None, "alike": len(keys) - 1})
    return lost


def _as_shown(figures: dict[str, Any]) -> dict[str, str]:
    """As they are shown: what ends in `_s` is a time, and what is not known yet will come."""
    return {
        name: "…" if it is None else duration(it) if name.endswith("_s") else amount(it) for name, it in figures.items()
    }


async def _events(console: Console, figures: OverviewCounts) -> AsyncIterator[str]:
    """What needs attention is sent as the page has it, escaped by its template."""
    attention = console.templates.get_template("attention.html")
    while console.gateway.is_ready():
        broker = console.gateway.service.broker
        minutes, is_open = console.pace.minutes(broker.now), await figures.open()
        found = troubles(known_troubles(minutes, is_open, broker.supervisor))
        event = {
            "figures": _as_shown(tiles(minutes, is_open, broker.now)),
            "plots": {"hour": str(hour_plot(minutes))},
            "attention": attention.render(troubles=found, is_counted=is_open.is_counted),
        }
        yield f"data: {json.dumps(event)}\n\n"
        for _ in range(round(EVERY_S / _STEP_S)):
            if not console.gateway.is_ready():
                return
            await asyncio.sleep(_STEP_S)
