"""An explanation: what became of a message and why, in values. `as_json` has instants and keys as text.

It is made of the kernel's verdict, parameters and near misses; nothing is decided or worded here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.messages import is_kept
from conjoin.kernel.verdicts.near_miss_sentences import near_miss
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.runtime.explain.notes import Nobody, Related
from conjoin.runtime.visibility.plain_values import to_plain

LOST = ("discarded", "expired", "refused")
STORAGE = ("buffered", "expired", "held", "none")


class MessageFacts(NamedTuple):
    """What is known of a message apart from its fate. `key` is None for one that was not published."""

    key: int | None
    name: str
    correlation_key: str
    tenant_id: str
    message_id: str
    business_id: str
    published_at: int
    deadline_at: int
    variables: Mapping[str, Any]


class Attempt(NamedTuple):
    """A receiver of the message. `outcome`: taken, started, on_its_way or given_back; `why` it was given back."""

    outcome: str
    process: str
    instance: int | None
    element: str
    offered_at: int
    why: str = ""


class StillBuffered(NamedTuple):
    """A message that was taken may still be kept, and others wait for it in vain."""

    reason: str
    parameters: Mapping[str, Any]
    sentence: str


class NearNow(NamedTuple):
    """What is near by now, where it is not what was near when the message was lost."""

    looked_at: int
    near_misses: Sequence[Mapping[str, Any]]


class Explanation(NamedTuple):
    """`storage` is buffered until the deadline, then expired; held while it waits for an answer; else none. `nobody` is
    there where nobody waited; `related` are messages that this one is about. `near_misses` were seen at `seen_at`: if
    that `was_kept`, when the message was lost; else now.
    """

    message: MessageFacts
    verdict: str
    reason: str
    decided_at: int
    parameters: Mapping[str, Any]
    sentence: str
    storage: str
    attempts: Sequence[Attempt]
    near_misses: Sequence[Mapping[str, Any]]
    still_buffered: StillBuffered | None = None
    related: Sequence[Related] = ()
    nobody: Nobody | None = None
    seen_at: int | None = None
    was_kept: bool = False
    near_now: NearNow | None = None

    def as_json(self) -> dict[str, Any]:
        now = self.near_now
        now = None if now is None else now._replace(near_misses=_with_texts(now.near_misses))
        plain: dict[str, Any] = to_plain(self._replace(near_misses=_with_texts(self.near_misses), near_now=now))
        # They stand on their own; the list of the parameters is the same, or a part of it.
        plain["parameters"].pop("near_misses", None)
        plain["attempts"] = [
            {name: value for name, value in attempt.items() if value not in (None, "")} for attempt in plain["attempts"]
        ]
        return plain


def _with_texts(misses: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [{**miss, "text": near_miss(to_plain(miss))} for miss in misses]


def facts_of(message: Message, tenant_id: str, correlation_key: str, key: int | None) -> MessageFacts:
    times = (message.published_at, message.deadline)
    which = (message.name, correlation_key, tenant_id, message.message_id, message.business_id)
    return MessageFacts(key, *which, *times, message.payload or {})


def storage_of(message: Message) -> str:
    if message.stored:
        return "buffered"
    if message.ended is None and not message.targets:
        return "held"
    was_kept = is_kept(message) and not isinstance(message.ended, (e.MessageRefused, e.MessageDiscarded))
    return "expired" if was_kept else "none"


def attempts_of(message: Message) -> list[Attempt]:
    """In their order. Of those that gave it back, the last before each that took it is known."""
    found = []
    for target in message.targets:
        if isinstance(target, e.MessageCorrelated):
            if target.before is not None:
                found.append(_given_back(target.before))
            on_its_way = target.subscription.busy_with is message
            found.append(_attempt("on_its_way" if on_its_way else "taken", target.subscription, target.at))
        else:
            start = target.start
            found.append(Attempt("started", start.process_id, target.instance_id, start.element_id or "", target.at))
    if message.given_back is not None and not message.targets:
        found.append(_given_back(message.given_back))
    return found


def _given_back(event: e.CorrelationGivenBack) -> Attempt:
    return _attempt("given_back", event.subscription, event.at)._replace(why=event.why)


def _attempt(outcome: str, subscription: Any, at: int) -> Attempt:
    return Attempt(outcome, subscription.process_id, subscription.instance_id, subscription.element_id or "", at)


def still_buffered(message: Message, correlation_key: str, misses: Sequence[Mapping[str, Any]]) -> StillBuffered | None:
    """While it is kept: those that wait for it in vain because their process has it."""
    waiting = [miss for miss in misses if miss["kind"] == "taken_by_process"]
    if not waiting or not message.stored:
        return None
    first = waiting[0]
    given = {name: first[name] for name in ("process", "instance", "taken_at", "waiting_instance")}
    given |= {"deadline_at": message.deadline}
    text = sentence("buffered", "taken_by_process", to_plain(given), message.name, correlation_key)
    return StillBuffered("taken_by_process", given, text)
