"""Dead letters: rows that never became messages, each with its reason; corrected and retried, or deleted.

What a row of the inbox's channels was is corrected as a row and received by the inbox again. Any other becomes a
message, with a dry run before. Either way it is taken once: who submits the form again is told that it is gone.
"""

from typing import Any

from starlette.responses import Response

from conjoin.console.filters import address
from conjoin.console.fixes import with_fixes
from conjoin.console.page_request import Visit
from conjoin.console.pages.lists import list_values, matching
from conjoin.console.pages.sending import FIELDS, given_fields
from conjoin.gateway.http.problems import HttpProblem, accepted, invalid
from conjoin.gateway.http.reading import key_in, new_message
from conjoin.gateway.queries import dead_letters as letter_queries
from conjoin.gateway.queries import store as queries


async def letter_list(visit: Visit) -> Response:
    values = await list_values(visit, "dead-letters", queries.page, "dead-letters")
    return await visit.show("dead_letters.html", **values, total=await matching(visit, "dead-letters"))


async def one_letter(visit: Visit) -> Response:
    letter = await _letter(visit)
    return await _shown(visit, letter, letter["meant"], letter["row"])


async def rehearse(visit: Visit) -> Response:
    letter = await _letter(visit)
    fields = _typed(visit)
    try:
        outcome = accepted(await visit.service.rehearse(new_message(given_fields(fields)))).dry_run.as_json()
    except HttpProblem as problem:
        return await _shown(visit, letter, fields, visit.field("row"), problem.detail)
    return await _shown(visit, letter, fields, visit.field("row"), outcome=outcome)


async def retry(visit: Visit) -> Response:
    """Refused ones stay, with what was typed."""
    letter = await _letter(visit)
    fields, row = _typed(visit), visit.field("row")
    try:
        if _channel(visit, letter):
            return await _received(visit, letter, row)
        message = new_message(given_fields(fields))
        key = int(letter["key"])
        accepted(await visit.service.carry_out(visit.service.broker.end_dead_letter, key, message))
    except HttpProblem as problem:
        if problem.status == 404:
            raise
        return await _shown(visit, letter, fields, row, problem.detail)
    found = address("/console/messages", name=fields["name"], key=fields["key"])
    return visit.go(found, "The dead letter became this message.")


async def delete(visit: Visit) -> Response:
    key = key_in(visit.request, "key")
    accepted(await visit.service.carry_out(visit.service.broker.end_dead_letter, key))
    return visit.go("/console/dead-letters", "The dead letter is deleted.")


async def _received(visit: Visit, letter: dict[str, Any], row: str) -> Response:
    """By the inbox, which knows what it has received before; then the letter is not needed any more."""
    if queries.has_hidden(row):
        raise invalid("The row contains a hidden value: enter the real one")
    inbox = visit.service.inbox
    assert inbox is not None
    outcome = await visit.service.carry_out(letter_queries.receive_again, inbox, letter, row.encode())
    why = queries.why_not(outcome)
    if why is not None:
        raise invalid(why)
    accepted(await visit.service.carry_out(visit.service.broker.end_dead_letter, int(letter["key"])))
    return visit.go(address("/console/inbox", channel=letter["source"]), "The inbox has received the row.")


async def _letter(visit: Visit) -> dict[str, Any]:
    return await visit.ask(letter_queries.dead_letter, key_in(visit.request, "key"))


def _channel(visit: Visit, letter: dict[str, Any]) -> bool:
    """Did it come to a channel of the inbox?"""
    return visit.service.inbox is not None and letter["source"] in visit.service.inbox.channels


def _typed(visit: Visit) -> dict[str, str]:
    return {name: visit.field(name) for name in FIELDS}


async def _shown(
    visit: Visit, letter: dict[str, Any], fields: dict[str, str], row: str, problem: str = "", outcome: Any = None
) -> Response:
    misses = with_fixes({**outcome["message"], "key": ""}, outcome["near_misses"]) if outcome else []
    return await visit.show(
        *("dead_letter.html", 400 if problem else 200),
        it=letter,
        message=fields,
        row=row,
        is_for_inbox=_channel(visit, letter),
        problem=problem,
        outcome=outcome,
        misses=misses,
    )
