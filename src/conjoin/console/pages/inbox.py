"""The inbox: its messages by state, one with its attempts; and the operations, on one, on some, or on all that match.

Which operations there are for a message is the kernel's answer; of these the ones that help in its state are shown.
What is done to many is counted first: a dry run, and then a second click.
"""

from collections.abc import Iterable
from typing import Any

from starlette.responses import Response

from conjoin.console.filters import address
from conjoin.console.fixes import with_corrections
from conjoin.console.page_request import Visit
from conjoin.console.pages.lists import filtered, list_values, matching, nothing_selected, selection
from conjoin.errors import InputError
from conjoin.gateway.http.problems import HttpProblem, invalid
from conjoin.gateway.http.reading import key_in
from conjoin.gateway.queries import store as queries
from conjoin.gateway.queries.store import OPERATIONS

_FIELDS = {"name": "name", "key": "correlation_key"}
_HELPFUL = {
    **{"waiting": ("retry", "pause", "delete"), "paused": ("resume", "delete")},
    **{"parked": ("release", "retry", "delete"), "uncertain": ()},
}
"""By state, the most helpful first."""
LABELS = {
    **{"retry": "Retry once now", "release": "Release: retry from the start", "pause": "Pause", "resume": "Resume"},
    "delete": "Delete",
}


def _inbox(visit: Visit) -> Any:
    if visit.service.inbox is None:
        raise HttpProblem(404, "No inbox", "This server has no inbox: configure [inbox] in its settings")
    return visit.service.inbox


async def inbox_list(visit: Visit) -> Response:
    inbox, values = _inbox(visit), await list_values(visit, "inbox", queries.page, "inbox")
    gauges = await visit.service.look(inbox.gauges)
    states = [it["state"] for it in values["items"]]
    total = await matching(visit, "inbox")
    return await visit.show(
        "inbox.html", **values, states=gauges.states, operations=_helpful(states), labels=LABELS, total=total
    )


def _helpful(states: Iterable[str]) -> list[str]:
    """Those that are of use to any of them."""
    found = {word for state in set(states) for word in _HELPFUL.get(state, ())}
    return [word for word in ("release", "retry", "resume", "pause", "delete") if word in found]


async def one_inbox_message(visit: Visit) -> Response:
    return await _shown(visit)


async def _shown(visit: Visit, problem: str = "") -> Response:
    """With what was typed, if it was refused."""
    key, inbox = key_in(visit.request, "key"), _inbox(visit)
    it = await visit.ask(queries.inbox_message, inbox, key)
    possible = await visit.service.look(inbox.applicable, key, OPERATIONS)
    operations = [word for word in _HELPFUL.get(it["state"], ()) if word in possible]
    typed = {"name": it["name"], "key": it["correlation_key"], "payload": it["payload"]}
    given = visit.request.query_params
    typed |= {name: visit.field(name) if problem else given[name] for name in typed if problem or name in given}
    misses = with_corrections(f"/console/inbox/{key}", it["near_misses"])
    status = 400 if problem else 200
    values: dict[str, Any] = {"it": it, "typed": typed, "problem": problem, "operations": operations, "labels": LABELS}
    values |= {"misses": misses}
    return await visit.show("inbox_message.html", status, **values)


async def operate(visit: Visit) -> Response:
    """On one."""
    key, word = key_in(visit.request, "key"), visit.field("operation")
    outcome = await visit.service.carry_out(_inbox(visit).operate, key, _operation(word), visit.who)
    return _back(visit, key, outcome, f"Done: {word}.")


async def correct(visit: Visit) -> Response:
    """Only what is different is a correction."""
    key = key_in(visit.request, "key")
    it = await visit.ask(queries.inbox_message, _inbox(visit), key)
    changes = {field: visit.field(field) for field, name in _FIELDS.items() if visit.field(field) != it[name]}
    # A browser sends back a text that it was given with other line ends, and without an empty first line.
    shown, typed = it["payload"].replace("\r\n", "\n").removeprefix("\n"), visit.field("payload")
    payload = None if typed == shown else typed.encode()
    try:
        outcome = await visit.service.carry_out(_inbox(visit).correct, key, payload, changes, visit.who)
    except InputError as error:
        return await _shown(visit, str(error))
    why = queries.why_not(outcome)
    return (
        _back(visit, key, outcome, "Corrected; the next run retries it.") if why is None else await _shown(visit, why)
    )


async def rehearse_many(visit: Visit) -> Response:
    """What the operation would come to; and the form that does it."""
    keys, filters = selection(visit)
    inbox, operation = _inbox(visit), _operation(visit.field("operation"))
    if keys == []:
        return nothing_selected(visit, "/console/inbox", filters)
    if keys is not None:
        changed, refused = await visit.service.look(inbox.rehearse_on, keys, operation)
    else:
        wanted = queries.inbox_selection(filtered(visit, "inbox", filters))
        changed, refused = await visit.service.look(inbox.rehearse_on_all, wanted, operation)
    counts = {"changed": changed, "refused": refused}
    return await visit.show(
        "inbox_selection.html", operation=visit.field("operation"), keys=keys, filters=filters, **counts
    )


async def operate_on_many(visit: Visit) -> Response:
    keys, filters = selection(visit)
    inbox, operation = _inbox(visit), _operation(visit.field("operation"))
    if keys is not None:
        answers = await visit.service.carry_out(inbox.operate_on, keys, operation, visit.who)
        refused = sum(queries.why_not(answer) is not None for answer in answers)
        changed = len(answers) - refused
    else:
        wanted = queries.inbox_selection(filtered(visit, "inbox", filters))
        selected = await visit.service.carry_out(inbox.operate_on_all, wanted, operation, visit.who)
        changed, refused = selected.changed, sum(selected.refused.values())
    left = f", {refused} left as they were" if refused else ""
    return visit.go(address("/console/inbox", filters), f"{visit.field('operation')}: {changed} changed{left}.")


def _operation(word: str) -> Any:
    if word not in OPERATIONS:
        raise invalid(f"operation: {word!r:.40} is none of {', '.join(OPERATIONS)}")
    return OPERATIONS[word]


def _back(visit: Visit, key: int, outcome: Any, done: str) -> Response:
    return visit.outcome(f"/console/inbox/{key}", queries.why_not(outcome), done)
