"""What needs attention: each trouble there is, with how much of it, its why, and the one action that is right for it.

What is zero is not here. The figures come from the store and from the supervisor of this process; nothing is decided.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.console.filters import address, amount, duration
from conjoin.console.wording import in_words

_LONGEST = 220


class Trouble(NamedTuple):
    """`kind` is its colour; `why` may quote what others wrote, and is escaped where it is shown."""

    code: str
    kind: str
    title: str
    why: str
    action: str
    href: str


class Known(NamedTuple):
    """What the troubles are made of. `newest` has an example of each by its code."""

    counts: Mapping[str, int]
    newest: Mapping[str, Mapping[str, Any]]
    lost: Sequence[tuple[tuple[str, str], int]]
    jobs: Sequence[Any]
    refused_notices: Mapping[str, str]
    set_aside: int


def troubles(known: Known) -> list[Trouble]:
    """The worst first."""
    return [*_of_shards(known.jobs), *_counted(known), *_of_sweeps(known.jobs), *_of_others(known)]


def _counted(known: Known) -> Iterator[Trouble]:
    for code, make in _MAKERS.items():
        count = known.counts.get(code, 0)
        if count:
            yield make(count, known.newest.get(code, {}))
    if known.lost:
        yield _lost(known.lost)


def _incidents(count: int, newest: Mapping[str, Any]) -> Trouble:
    where = f"{newest['process_name']}, “{newest['element_name']}”: {newest['text']}" if newest else ""
    href = f"/console/instances/{newest['instance_key']}" if newest and count == 1 else "/console/incidents"
    label = "Fix it" if count == 1 else "Fix the incidents"
    return Trouble("incidents", "incident", _many(count, "open incident"), _newest(count, where), label, href)


def _parked(count: int, newest: Mapping[str, Any]) -> Trouble:
    key = f" with key “{newest['correlation_key']}”" if newest.get("correlation_key") else ""
    why = f"“{newest['name']}”{key}: {newest['error_text'] or in_words(newest['reason'])}" if newest else ""
    listed = address("/console/inbox", state="parked")
    href = f"/console/inbox/{newest['key']}" if newest and count == 1 else listed
    label = "Correct or retry it" if count == 1 else "Correct or retry them"
    title = f"{_many(count, 'message')} parked in the inbox"
    return Trouble("parked", "parked", title, _newest(count, why), label, href)


def _dead_letters(count: int, newest: Mapping[str, Any]) -> Trouble:
    where = f"row {newest['position']} of {newest['source']}" if newest else ""
    why = f"{where}: {in_words(newest['reason'])} ({newest['text']})" if newest else ""
    href = f"/console/dead-letters/{newest['key']}" if newest and count == 1 else "/console/dead-letters"
    label = "Correct it" if count == 1 else "Correct them"
    return Trouble("dead_letters", "discarded", _many(count, "dead letter"), _newest(count, why), label, href)


_MAKERS: dict[str, Callable[[int, Mapping[str, Any]], Trouble]] = {
    **{"incidents": _incidents, "parked": _parked, "dead_letters": _dead_letters}
}


def _lost(lost: Sequence[tuple[tuple[str, str], int]]) -> Trouble:
    total = sum(count for _, count in lost)
    (verdict, reason), most = max(lost, key=lambda it: it[1])
    share = "" if most == total else f"{amount(most)} of them: "
    href = address("/console/messages", within="1h", lost="yes")
    title = f"{_many(total, 'message')} lost in the last hour"
    return Trouble("lost", "discarded", title, f"{share}{verdict}, {in_words(reason)}", "See why", href)


def _of_shards(jobs: Sequence[Any]) -> Iterator[Trouble]:
    stuck = [it for it in jobs if it.name.startswith(("shard-", "beside-"))]
    if stuck:
        title = f"{_many(len(stuck), 'shard')} cannot commit"
        yield Trouble("shards", "incident", title, _why(stuck[0]), "See the server", "/console/server")


def _of_sweeps(jobs: Sequence[Any]) -> Iterator[Trouble]:
    late = [it for it in jobs if it.name.startswith("sweep-")]
    if late:
        title = f"{_many(len(late), 'sweep')} late"
        yield Trouble("sweeps", "expired", title, _why(late[0]), "See the server", "/console/server")


def _of_others(known: Known) -> Iterator[Trouble]:
    for name, why in list(known.refused_notices.items())[:1]:
        title = f"{_many(len(known.refused_notices), 'receiver')} of notices not reached"
        yield Trouble("notices", "expired", title, f"{name}: {why}", "See the server", "/console/server")
    others = [it for it in known.jobs if not it.name.startswith(("shard-", "beside-", "sweep-"))]
    if others:
        title = f"{_many(len(others), 'background job')} failing"
        yield Trouble("jobs", "expired", title, _why(others[0]), "See the server", "/console/server")
    if known.set_aside:
        title = f"{_many(known.set_aside, 'item')} set aside"
        why = "they could not be carried out, and their shards went on without them"
        yield Trouble("set_aside", "expired", title, why, "Retry or delete", "/console/server#set-aside-title")


def _why(job: Any) -> str:
    doing = f" while {job.doing}" if job.doing else ""
    return f"{job.name}: {job.error or f'nothing done for {duration(int(job.late_s))}{doing}'}"


def _newest(count: int, why: str) -> str:
    """Of several the newest is the example."""
    shown = why if len(why) <= _LONGEST else f"{why[:_LONGEST]}…"
    return f"The newest: {shown}" if count > 1 and shown else shown


def _many(count: int, noun: str) -> str:
    return f"{amount(count)} {noun}{'' if count == 1 else 's'}"
