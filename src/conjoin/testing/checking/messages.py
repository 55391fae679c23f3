"""What must be so about messages: those acknowledged are there, once each, as they were sent, and had their effect."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from conjoin.testing.checking.final_tables import FinalTables, StoredMessage
from conjoin.testing.checking.history import RecordedHistory, RequestMade, marks_in

_REFUSED = "refused"
_NEVER_STORED = "INVALID_ARGUMENT"
"""What makes no sense is refused before it becomes a message."""


def contradictions(history: RecordedHistory, tables: FinalTables) -> Iterator[str]:
    by_request: dict[str, list[StoredMessage]] = defaultdict(list)
    for message in tables.messages:
        marks = marks_in(message.variables)
        if len(marks) != 1 or marks[0] not in history.requests:
            yield f"message {message.row.key} comes from no request"
        by_request["".join(marks)].append(message)
    for made in history.of_kind("publish", "correlate"):
        yield from _request(made, by_request[made.request], history)
    yield from _ids(tables)
    for request, found in by_request.items():
        for message in found:
            yield from _effects(request, message, tables)
    yield from _unrecorded(by_request, tables)


def _request(made: RequestMade, found: list[StoredMessage], history: RecordedHistory) -> Iterator[str]:
    request = made.request
    if len(found) > 1:
        keys = ", ".join(str(message.row.key) for message in found)
        yield f"request {request} became {len(found)} messages: {keys}"
    outcome = history.outcome_of(request)
    if outcome is not None and not found:
        if history.answers[request].details.get("code") != _NEVER_STORED:
            yield f"request {request} was answered, and its message is not there"
        return
    for message in found:
        yield from _content(made, message)
        if outcome is not None:
            yield from _answer(request, message, history)


def _content(made: RequestMade, message: StoredMessage) -> Iterator[str]:
    row = message.row
    kept = {"name": row.name, "key": row.correlation_key, "message_id": row.message_id, "variables": message.variables}
    for what, value in kept.items():
        if what in made.details and made.details[what] != value:
            yield f"request {made.request} had the {what} {made.details[what]!r}, and message {row.key} has {value!r}"


def _answer(request: str, message: StoredMessage, history: RecordedHistory) -> Iterator[str]:
    row, answer = message.row, history.answers[request]
    key, instance = answer.details.get("key"), answer.details.get("instance")
    if (answer.outcome == _REFUSED) != (row.verdict == _REFUSED):
        yield f"request {request} was answered with {answer.outcome}, and message {row.key} is {row.verdict}"
    elif answer.outcome == "done" and key != row.key:
        yield f"request {request} was answered with message {key}, and its message is {row.key}"
    elif instance is not None and instance not in {it.instance for it in message.holders}:
        yield f"request {request} was answered with instance {instance}, which has not got the message"


def _ids(tables: FinalTables) -> Iterator[str]:
    """No id is accepted twice within its time, and none is refused outside of it."""
    accepted: dict[tuple[str, ...], list[StoredMessage]] = defaultdict(list)
    refused = []
    for message in sorted(tables.messages, key=lambda it: (it.row.published_at, it.row.key)):
        if message.row.reason == "duplicate_id":
            refused.append(message)
        elif message.row.message_id and message.row.verdict != _REFUSED:
            accepted[_identity(message)].append(message)
    for same in accepted.values():
        for first, second in pairwise(same):
            if second.row.published_at < first.row.deadline:
                yield f"messages {first.row.key} and {second.row.key} were both accepted with one id in its time"
    for message in refused:
        at, rivals = message.row.published_at, (it.row for it in accepted[_identity(message)])
        if not any(row.published_at <= at < row.deadline for row in rivals):
            yield f"message {message.row.key} was refused as a duplicate, and no other of its id was there"


def _identity(message: StoredMessage) -> tuple[str, ...]:
    row = message.row
    return (row.tenant_id, row.name, row.correlation_key, row.message_id)


def _effects(request: str, message: StoredMessage, tables: FinalTables) -> Iterator[str]:
    key = message.row.key
    if (message.row.verdict == "correlated") != bool(message.holders):
        yield f"message {key} is {message.row.verdict}, and {len(message.holders)} have it"
    for process_id, times in Counter(it.process for it in message.holders).items():
        if times > 1:
            yield f"message {key} was given to process {process_id} {times} times"
    for holder in message.holders:
        instance = tables.instances.get(holder.instance or 0)
        if instance is None or request not in instance.marks:
            yield f"message {key} is correlated to instance {holder.instance}, and had no effect there"
    arrived = tables.arrivals[request]
    if tables.log_is_whole and arrived != len(message.holders):
        yield f"message {key} reached instances {arrived} times, and {len(message.holders)} have it"


def _unrecorded(by_request: dict[str, list[StoredMessage]], tables: FinalTables) -> Iterator[str]:
    for key, instance in tables.instances.items():
        for mark in instance.marks:
            for message in by_request.get(mark, ()):
                if key not in {it.instance for it in message.holders}:
                    yield f"instance {key} has the variables of message {message.row.key}, which was not given to it"
