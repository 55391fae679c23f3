"""The inbox: its messages by state, one with its attempts; and the operations, on one, on some, or on all that match.

What is done to many is counted first: a dry run, and then a second click.
"""

from typing import Any

from starlette.responses import Response

from conjoin.console.filters import address
from conjoin.console.page_request import Visit
from conjoin.console.pages.lists import filtered, list_values
from conjoin.gateway.http.problems import HttpProblem, invalid
from conjoin.gateway.http.reading import key_in, key_of
from conjoin.gateway.queries import store as queries
from conjoin.gateway.queries.store import OPERATIONS

_FIELDS = {"name": "name", "key": "correlation_key"}


def _inbox(visit: Visit) -> Any:
    if visit.service.inbox is None:
        raise HttpProblem(404, "No inbox", "This server has no inbox: configure [inbox] in its settings")
    return visit.service.inbox


async def inbox_list(visit: Visit) -> Response:
    inbox, values = _inbox(visit), await list_values(visit, "inbox")
    gauges = await visit.service.look(inbox.gauges)
    return await visit.show("inbox.html", **values, states=gauges.states, operations=list(OPERATIONS))


async def one_inbox_message(visit: Visit) -> Response:
    key = key_in(visit.request, "key")
    it = await visit.ask(queries.inbox_message, _inbox(visit), key)
    return await visit.show("inbox_message.html", it=it, operations=list(OPERATIONS))


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
    outcome = await visit.service.carry_out(_inbox(visit).correct, key, payload, changes, visit.who)
    return _back(visit, key, outcome, "Corrected; the next run retries it.")


async def rehearse_many(visit: Visit) -> Response:
    """What the operation would come to; and the form that does it."""
    keys, filters = _selected(visit)
    inbox, operation = _inbox(visit), _operation(visit.field("operation"))
    if keys:
        changed, refused = await visit.service.look(inbox.rehearse_on, keys, operation)
    else:
        selection = queries.inbox_selection(filtered(visit, "inbox", filters))
        changed, refused = await visit.service.look(inbox.rehearse_on_all, selection, operation)
    counts = {"changed": changed, "refused": refused}
    return await visit.show(
        "inbox_selection.html", operation=visit.field("operation"), keys=keys, filters=filters, **counts
    )


async def operate_on_many(visit: Visit) -> Response:
    keys, filters = _selected(visit)
    inbox, operation = _inbox(visit), _operation(visit.field("operation"))
    if keys:
        answers = await visit.service.carry_out(inbox.operate_on, keys, operation, visit.who)
        refused = sum(queries.why_not(answer) is not None for answer in answers)
        changed = len(answers) - refused
    else:
        selection = queries.inbox_selection(filtered(visit, "inbox", filters))
        selected = await visit.service.carry_out(inbox.operate_on_all, selection, operation, visit.who)
        changed, refused = selected.changed, sum(selected.refused.values())
    left = f", {refused} left as they were" if refused else ""
    return visit.go(address("/console/inbox", filters), f"{visit.field('operation')}: {changed} changed{left}.")


def _selected(visit: Visit) -> tuple[list[int], dict[str, str]]:
    """Keys, and the filters of the list, which travel with the form as fields that begin with `filter_`."""
    fields = {name.removeprefix("filter_"): visit.field(name) for name in visit.form if name.startswith("filter_")}
    keys = [key_of("selected", key) for key in visit.form.get("selected", [])]
    return keys, {name: value for name, value in fields.items() if value}


def _operation(word: str) -> Any:
    if word not in OPERATIONS:
        raise invalid(f"operation: {word!r:.40} is none of {', '.join(OPERATIONS)}")
    return OPERATIONS[word]


def _back(visit: Visit, key: int, outcome: Any, done: str) -> Response:
    return visit.outcome(f"/console/inbox/{key}", queries.why_not(outcome), done)
