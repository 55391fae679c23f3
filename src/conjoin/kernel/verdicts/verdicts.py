"""Verdicts: what became of a message, as a code, a reason from a closed list, and the parameters of the reason.

A message has exactly one verdict at any time. Correlated is decided by the first receiver; everything else by the
event that ended the message, or by what it waits for now. Nothing here is stored: it follows from the state.
"""

from typing import Any, NamedTuple

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.messages import Message, is_kept
from conjoin.kernel.correlation.offers import is_awaited
from conjoin.kernel.correlation.starting import locked_starts, starts_behind_id
from conjoin.kernel.correlation.state import KeySpace
from conjoin.kernel.instants import elapsed_ms
from conjoin.kernel.verdicts.near_misses import near_misses
from conjoin.kernel.verdicts.sentences import PHRASES

REASONS = {verdict: tuple(reason for it, reason in PHRASES if it == verdict) for verdict, _ in PHRASES}
"""Every verdict and every reason it can have."""

FOR_WANT_OF_RECEIVERS = frozenset({"nobody_waits", "nobody_waited", "ttl_zero", "policy", "not_found"})
"""The reasons of a message that nobody took because nobody was there: then it is of use to know who was near."""


class Verdict(NamedTuple):
    """`cause` is the event that decided, or None while the message still waits."""

    verdict: str
    reason: str
    decided_at: int
    cause: e.Event | None


def verdict_of(space: KeySpace, message: Message, now: int, catalog: Catalog) -> Verdict:
    """The verdict at an instant up to which everything has been applied."""
    ended = message.ended
    if message.policy.expected is not None and not isinstance(ended, e.MessageRefused):
        short = _short(message, now)
        if short is not None:
            return short
    if message.targets:
        first = message.targets[0]
        return Verdict("correlated", first.reason, first.at, first)
    if message.marks:
        return Verdict("correlated", "waiting_instance", message.published_at, None)
    if ended is None:
        return _buffered(space, message, now, catalog)
    if isinstance(ended, e.MessageExpired):
        return Verdict("expired", ended.reason or "nobody_waited", ended.at, ended)
    verdict = "refused" if isinstance(ended, e.MessageRefused) else "discarded"
    return Verdict(verdict, ended.reason, ended.at, ended)


def receivers_of(message: Message) -> int:
    """How many have it, those of earlier runs included."""
    return message.taken_before + len(message.targets)


def _short(message: Message, now: int) -> Verdict | None:
    """Fewer receivers than expected when its time is over (policy `expected`)."""
    kept = is_kept(message)
    undecided = message.ended is None and not kept and not message.targets
    if undecided or (kept and message.deadline > now) or receivers_of(message) >= (message.policy.expected or 0):
        return None
    decided_at = message.deadline if kept else message.published_at
    return Verdict("short", "fewer_than_expected", decided_at, message.ended)


def _buffered(space: KeySpace, message: Message, now: int, catalog: Catalog) -> Verdict:
    topic = space.topics.get(message.name)
    if message.given_back is not None:
        return Verdict("buffered", "given_back", message.given_back.at, message.given_back)
    if topic is not None and topic.held and message in topic.held:
        # It cannot be kept, so it waits for nothing else.
        return Verdict("buffered", "busy", message.published_at, None)
    starts = catalog.starts_for(space.tenant_id, message.name, now)
    if locked_starts(space, message, starts) or starts_behind_id(space, message, starts, catalog):
        return Verdict("buffered", "locked", message.published_at, None)
    if topic is not None and topic.lanes and is_awaited(topic, message):
        return Verdict("buffered", "busy", message.published_at, None)
    return Verdict("buffered", "nobody_waits", message.published_at, None)


def parameters(
    space: KeySpace,
    message: Message,
    verdict: Verdict,
    now: int,
    catalog: Catalog,
    other_tenants: tuple[KeySpace, ...] = (),
) -> dict[str, Any]:
    """The parameters of a verdict's reason. Instants end in `_at`."""
    cause = verdict.cause
    if verdict.verdict == "correlated":
        return _of_correlation(message, verdict)
    if verdict.verdict == "short":
        return {"expected": message.policy.expected, "got": receivers_of(message)}
    if isinstance(cause, e.MessageExpired):
        return _of_expiry(message, cause)
    if isinstance(cause, e.MessageDiscarded):
        return {"near_misses": list(cause.near_misses)}
    if isinstance(cause, e.MessageRefused):
        return dict(cause.parameters)
    if isinstance(cause, e.CorrelationGivenBack):
        return {"instance": cause.subscription.instance_id, "why": cause.why}
    starts = catalog.starts_for(space.tenant_id, message.name, now)
    misses = near_misses(space, message, now, starts, other_tenants)
    given: dict[str, Any] = {"deadline_at": message.deadline, "near_misses": list(misses)}
    if verdict.reason == "locked" and misses and misses[0]["kind"] == "lock_held":
        given |= {"process": misses[0]["process"], "key": space.key, "instance": misses[0]["instance"]}
    elif verdict.reason == "locked":
        behind = starts_behind_id(space, message, starts, catalog)
        given |= {"process": behind[0].process_id, "business_id": message.business_id}
    if verdict.reason == "busy":
        given |= next(({"subscription": miss["subscription"]} for miss in misses if miss["kind"] == "busy"), {})
    return given


def _of_correlation(message: Message, verdict: Verdict) -> dict[str, Any]:
    cause = verdict.cause
    if cause is None:
        return {"processes": list(message.marks), "earlier_run": True}
    if isinstance(cause, e.InstanceStarted):
        started = {"process": cause.process_id, "instance": cause.instance_id, "element": cause.start.element_id}
        return started if cause.freed_by is None else {**started, "freed_by": cause.freed_by}
    assert isinstance(cause, e.MessageCorrelated)
    subscription = cause.subscription
    taken: dict[str, Any] = {
        "process": subscription.process_id,
        "instance": subscription.instance_id,
        "element": subscription.element_id,
        "subscription": subscription.key,
    }
    if verdict.reason != "waiting_instance":
        taken["waited_ms"] = elapsed_ms(message.published_at, cause.at)
    if cause.before is not None:
        taken["first_instance"] = cause.before.subscription.instance_id
        taken["why"] = cause.before.why
    return taken


def _of_expiry(message: Message, cause: e.MessageExpired) -> dict[str, Any]:
    given: dict[str, Any] = {"deadline_at": message.deadline, "near_misses": list(cause.near_misses)}
    late = message.late_subscription
    if late is not None:
        given["next_subscription"] = {
            "process": late.process_id,
            "instance": late.instance_id,
            "late_ms": elapsed_ms(message.deadline, late.opened_at),
        }
    return given
