"""What must be so about instances and jobs: each came from somewhere; what was acknowledged has happened, once."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from conjoin.testing.checking.final_tables import FinalTables
from conjoin.testing.checking.history import RecordedHistory, RequestMade

_TERMINATED = "terminated"


def contradictions(history: RecordedHistory, tables: FinalTables) -> Iterator[str]:
    owners: dict[str, list[int]] = defaultdict(list)
    for key, instance in tables.instances.items():
        for mark in instance.marks:
            owners[mark].append(key)
            if mark not in history.requests:
                yield f"instance {key} has variables of request {mark}, which nobody asked"
    for made in history.of_kind("create"):
        yield from _created(made, owners[made.request], history)
    yield from _origins(history, tables)
    yield from _cancelled(history, tables)
    if tables.log_is_whole:
        yield from _completed(history, tables, owners)
        yield from _activated(history, tables)


def _created(made: RequestMade, found: list[int], history: RecordedHistory) -> Iterator[str]:
    request = made.request
    if len(found) > 1:
        yield f"request {request} created {len(found)} instances: {', '.join(map(str, found))}"
    outcome = history.outcome_of(request)
    if outcome == "done" and (key := history.answers[request].details["key"]) not in found:
        yield f"request {request} was answered with instance {key}, which is not there"
    if outcome == "refused" and found:
        yield f"request {request} was refused, and created instance {found[0]}"


def _origins(history: RecordedHistory, tables: FinalTables) -> Iterator[str]:
    creations = {made.request for made in history.of_kind("create")}
    started = Counter(it.instance for message in tables.messages for it in message.holders)
    for key, instance in tables.instances.items():
        by_command = [mark for mark in instance.marks if mark in creations]
        if instance.row.started == "command" and len(by_command) != 1:
            yield f"instance {key} was created by {len(by_command)} requests"
        if instance.row.started == "message" and not started[key]:
            yield f"instance {key} was started by a message, and no message says so"


def _cancelled(history: RecordedHistory, tables: FinalTables) -> Iterator[str]:
    cancelled = {made.details["instance"] for made in history.of_kind("cancel")}
    for made in history.of_kind("cancel"):
        instance = tables.instances.get(made.details["instance"])
        if history.outcome_of(made.request) == "done" and (instance is None or instance.row.state != _TERMINATED):
            yield f"request {made.request} cancelled instance {made.details['instance']}, which has not ended so"
    for key, instance in tables.instances.items():
        if instance.row.state == _TERMINATED and key not in cancelled and not instance.row.parent_key:
            yield f"instance {key} was terminated, and nobody has cancelled it"


def _completed(history: RecordedHistory, tables: FinalTables, owners: dict[str, list[int]]) -> Iterator[str]:
    by_request: dict[str, list[int]] = defaultdict(list)
    for job, requests in tables.completions.items():
        if len(requests) > 1:
            yield f"job {job} was completed {len(requests)} times"
        for request in requests:
            by_request[request].append(job)
            if request not in history.requests or history.requests[request].details.get("job") != job:
                yield f"job {job} was completed by {request or 'no request'}, which did not ask for it"
    for made in history.of_kind("complete"):
        request, job = made.request, made.details["job"]
        done = by_request.get(request, [])
        outcome = history.outcome_of(request)
        if outcome is not None and (outcome == "done") != (done == [job]):
            yield f"request {request} to complete job {job} was answered with {outcome}, and it completed {done}"
        if bool(done) != bool(owners.get(request)):
            yield f"job {job} was completed by request {request}, and its variables are nowhere"


def _activated(history: RecordedHistory, tables: FinalTables) -> Iterator[str]:
    """A worker is named by its request."""
    for made in history.of_kind("activate"):
        if history.outcome_of(made.request) != "done":
            continue
        for job in history.answers[made.request].details["jobs"]:
            times = tables.activations[job, made.request]
            if times != 1:
                yield f"request {made.request} was given job {job}, and the log says so {times} times"
