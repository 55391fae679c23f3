"""Explanations: what became of a message, why, and what came near to taking it; and what would become of one not sent.

The verdict is the kernel's, on the state as it is now, so it never lags behind what was committed. Nothing is written.
"""

import logging
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any, NamedTuple

from conjoin.kernel.correlation import Message, decide
from conjoin.kernel.correlation import commands as c
from conjoin.kernel.correlation.events import InstanceStarted
from conjoin.kernel.verdicts.ranking import Miss
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.kernel.verdicts.verdicts import FOR_WANT_OF_RECEIVERS, Verdict, parameters, verdict_of
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage, accepted, unusable
from conjoin.runtime.explain import explanation
from conjoin.runtime.explain.explanation import LOST, Explanation, MessageFacts, NearNow
from conjoin.runtime.explain.kept import evidence, replacing
from conjoin.runtime.explain.key_view import load_key
from conjoin.runtime.explain.near_misses import all_misses, who_came_late
from conjoin.runtime.explain.notes import Nobody, Related
from conjoin.runtime.explain.shard_views import ShardViews
from conjoin.runtime.explain.surroundings import KeySurroundings
from conjoin.runtime.reading.finding import message_with_key
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.runtime.visibility.scope import seen_misses, seen_parameters
from conjoin.store import tables as t
from conjoin.store.port import RowOrder, ShardSnapshot
from conjoin.store.rows import EvidenceRow, MessageRow

_UNSENT = 2**63 - 1
"""The key of a message that is not published: it comes after all others."""
_MOST_KNOWN = 10
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.5
_UNDECIDED = ("buffered", "waiting")
_log = logging.getLogger(__name__)


class NamedExplanation(NamedTuple):
    """What would become of such a message now, and of those that were published, the newest first."""

    dry_run: Explanation
    known: Sequence[Explanation]

    def as_json(self) -> dict[str, Any]:
        return {"dry_run": self.dry_run.as_json(), "known": [it.as_json() for it in self.known]}


def explain(broker: Broker, message_key: int) -> Explanation | Refusal:
    return _of_message(broker, message_key, after_commit=False)


def what_became(broker: Broker, message_key: int) -> Explanation | Refusal:
    """The same for the answer to whoever has just published it: only instances that its key leads to are looked into,
    and since it is committed, an error while looking for near misses is logged and leaves them out.
    """
    found = _of_message(broker, message_key, after_commit=True)
    if isinstance(found, Explanation):
        evidence.note(broker, found)
    return found


def _of_message(broker: Broker, message_key: int, *, after_commit: bool) -> Explanation | Refusal:
    unknown = Refusal("NOT_FOUND", f"no message with key {message_key} is known")
    row = message_with_key(broker.store, message_key)
    if row is None:
        return unknown
    kept = KeptEvidence([message_key])
    view = load_key(broker, row.tenant_id, row.correlation_key, kept.find)
    message = view.messages.get(message_key)
    if message is None:
        return unknown
    with ShardViews(broker.store) as shards:
        around = KeySurroundings(shards, view, message.name, broker.scope, after_commit)
        found = _explained(around, message, message_key, kept.rows.get(message_key))
    return _shown(broker, _with_related(broker, found, kept.rows.get(message_key)))


def explain_named(broker: Broker, new: NewMessage) -> NamedExplanation:
    """By name and key, and by its id if it has one: the newest first, and those that were refused, too."""
    problem = unusable(new)
    if problem is not None:
        return NamedExplanation(_invalid(new, problem, broker.now), ())
    where = {"tenant_id": new.tenant_id, "correlation_key": new.key, "name": new.name}
    where |= {"message_id": new.message_id} if new.message_id else {}
    keys = [row.key for row in broker.store.rows(t.MESSAGE, where, None, _MOST_KNOWN, RowOrder(backward=True))]
    same_id = (new.tenant_id, new.key, new.name, new.message_id)

    kept = KeptEvidence(keys)

    def find(snapshot: ShardSnapshot) -> list[MessageRow]:
        return [*kept.find(snapshot), *snapshot.messages_with_id(*same_id)]

    view = load_key(broker, new.tenant_id, new.key, find, new)
    with ShardViews(broker.store) as shards:
        around = KeySurroundings(shards, view, new.name, broker.scope)
        known = [_explained(around, view.messages[it], it, kept.rows.get(it)) for it in keys if it in view.messages]
        dry_run = _dry_run(around, new)
    shown = [_shown(broker, _with_related(broker, it, kept.rows.get(it.message.key or 0))) for it in known]
    return NamedExplanation(_with_related(broker, dry_run), shown)


def wait_for_verdict(
    broker: Broker, message_key: int, timeout_s: float, pause: Callable[[float], None] = sleep
) -> Explanation | Refusal:
    """What became of the message once it is no longer merely kept, or when the time is over."""
    give_up = monotonic() + timeout_s
    pause_s = _FIRST_PAUSE_S
    while True:
        row = message_with_key(broker.store, message_key)
        left_s = give_up - monotonic()
        if row is None or row.verdict not in _UNDECIDED or row.deadline <= broker.now or left_s <= 0:
            found = what_became(broker, message_key)
            # One that is held for a busy receiver is undecided beyond its deadline.
            if isinstance(found, Refusal) or found.verdict not in _UNDECIDED or left_s <= 0:
                return found
        pause(min(pause_s, left_s))
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _with_related(broker: Broker, found: Explanation, kept: EvidenceRow | None = None) -> Explanation:
    """A refused duplicate with what became of the first, in whose place it came; and what was sent again."""
    related = replacing.related(broker, kept)
    first = found.parameters.get("first_message") if found.reason == "duplicate_id" else None
    other = explain(broker, first) if isinstance(first, int) else None
    if isinstance(first, int) and isinstance(other, Explanation):
        related.insert(0, Related("first", first, other.verdict, other.reason, other.sentence))
    return found._replace(related=related) if related else found


def _shown(broker: Broker, found: Explanation) -> Explanation:
    return found._replace(message=found.message._replace(variables=broker.hiding.of(found.message.variables)))


def _dry_run(around: KeySurroundings, new: NewMessage) -> Explanation:
    """Published on the loaded copy of its key."""
    view = around.view
    message = accepted(new, _UNSENT, view.now, view.catalog.policies)
    command = c.CorrelateMessage(message, view.now) if new.sync else c.PublishMessage(message, view.now)
    for event in decide(view.space, command, view.catalog):
        event.apply(view.space)
    found = _explained(around, message, None)
    # Nothing answers here: a receiver that it would be given to is taken to accept it.
    attempts = [it._replace(outcome="taken") if it.outcome == "on_its_way" else it for it in found.attempts]
    return found._replace(sentence=_conditional(found.verdict, found.sentence), attempts=attempts)


def _invalid(new: NewMessage, problem: Refusal, now: int) -> Explanation:
    which = (new.name, new.key, new.tenant_id, new.message_id, new.business_id)
    why = {"why": problem.text}
    text = _conditional("refused", sentence("refused", "invalid", why, new.name, new.key))
    facts = MessageFacts(None, *which, now, now, {})
    return Explanation(facts, "refused", "invalid", now, why, text, "none", (), ())


def _conditional(verdict: str, text: str) -> str:
    return f"If it were published now, it would be {verdict}: {text.removeprefix(f'{verdict.capitalize()}: ')}"


class KeptEvidence:
    """Messages that are to be explained, with what was kept of them."""

    def __init__(self, keys: Sequence[int]) -> None:
        self.rows: dict[int, EvidenceRow] = {}
        self._keys = keys

    def find(self, snapshot: ShardSnapshot) -> Sequence[MessageRow]:
        if not self._keys:
            return ()
        self.rows = {row.message_key: row for row in snapshot.evidence(self._keys)}
        return snapshot.messages(self._keys)


def _explained(
    around: KeySurroundings, message: Message, key: int | None, kept: EvidenceRow | None = None
) -> Explanation:
    view = around.view
    space = view.space
    message.late_subscription = who_came_late(view, message)
    verdict = verdict_of(space, message, view.now, view.catalog)
    given = parameters(space, message, verdict, view.now, view.catalog)
    if isinstance(verdict.cause, InstanceStarted):
        # Of the process that was started: the kernel knows only its definition.
        given = given | {"version": view.deployed.definitions.by_key[verdict.cause.start.definition_key].version}
    misses, nobody = _near(around, message, verdict, given.get("near_misses", ()))
    then = _kept_misses(around, kept) if verdict.verdict in LOST else None
    near_now = None
    if then is not None:
        near_now = None if evidence.are_the_same(then, misses) else NearNow(view.now, misses)
        misses, nobody = then, None if then else nobody
        # Who came later is near now.
        given = {name: it for name, it in given.items() if name != "next_subscription"}
    if verdict.verdict != "correlated":
        given = seen_parameters(around.scope, space.tenant_id, message.name, given)
        if misses or "near_misses" in given:
            given["near_misses"] = misses
    text = sentence(verdict.verdict, verdict.reason, to_plain(given), message.name, space.key)
    return Explanation(
        explanation.facts_of(message, space.tenant_id, space.key, key),
        verdict.verdict,
        verdict.reason,
        verdict.decided_at,
        given,
        text,
        explanation.storage_of(message),
        explanation.attempts_of(message),
        misses,
        explanation.still_buffered(message, space.key, misses),
        nobody=nobody,
        seen_at=view.now if kept is None or then is None else kept.seen_at,
        was_kept=then is not None,
        near_now=near_now,
    )


def _kept_misses(around: KeySurroundings, kept: EvidenceRow | None) -> list[Miss] | None:
    """Those that the caller may see."""
    then = evidence.read(kept)
    return None if then is None else list(seen_misses(around.scope, around.tenant_id, around.name, then))


def _near(
    around: KeySurroundings, message: Message, verdict: Verdict, known: Sequence[Miss]
) -> tuple[Sequence[Miss], Nobody | None]:
    """What came near; if nothing did and somebody was wanted, who waits for the name at all."""
    try:
        misses = all_misses(around, message, verdict, known)
        is_of_use = verdict.reason in FOR_WANT_OF_RECEIVERS and not misses
        return misses, around.nobody() if is_of_use else None
    except Exception:  # answered with an error, the message would be sent a second time
        if not around.after_commit:
            raise
        _log.exception("the message is published, but what came near to it cannot be said")
        return (), None
