"""Due: when something happens to a message by itself, and what; and when the jobs of the schedule come.

`due_at_of` is meant to be stored beside the message, in one indexed column: what is due is then `due_at <= now`, and
rows that wait, are parked or have ended never hide one that is due. None: nothing happens until an operator acts. What
waits for its group stays due, so a run goes on after the last row of a page and never starts again at the first.
Invariant: what a run has booked is not due again at the instant of that run.
"""

from conjoin.kernel.inbox.message import ENDED, UNCERTAIN, WAITING, InboxMessage, is_expired
from conjoin.kernel.inbox.settings import InboxSettings
from conjoin.kernel.instants import ALWAYS, NEVER, after

TRY, EXPIRE, LAPSE = "try", "expire", "lapse"
"""Offer it to its target; end it; or book a call whose answer never came."""
RUN, CLEANUP = "inbox-run", "inbox-cleanup"
"""The jobs: each has a lease of its own, and neither is done by two servers at a time."""


def due_at_of(message: InboxMessage, settings: InboxSettings) -> int | None:
    if message.state in ENDED:
        return None
    if message.state == UNCERTAIN:
        return _lapses_at(message, settings)
    due_at = message.expires_at
    if message.state == WAITING:
        due_at = min(due_at, turn_at(message))
    return None if due_at == NEVER else due_at


def turn_at(message: InboxMessage) -> int:
    """When a message that waits may be tried: not before its next retry, and not twice at one instant."""
    retry_at = message.ingested_at if message.next_retry_at is None else message.next_retry_at
    return retry_at if message.tried_at is None else max(retry_at, message.tried_at + 1)


def what_is_due(message: InboxMessage, now: int, settings: InboxSettings) -> str | None:
    """What happens to it now, if anything: it expires rather than being tried once more."""
    if is_expired(message, now):
        return EXPIRE
    if message.state == WAITING and turn_at(message) <= now:
        return TRY
    if message.state == UNCERTAIN and _lapses_at(message, settings) <= now:
        return LAPSE
    return None


def _lapses_at(message: InboxMessage, settings: InboxSettings) -> int:
    """By then the caller has lost the lock of the schedule, so the answer is not coming any more."""
    return after(ALWAYS if message.tried_at is None else message.tried_at, settings.lock_at_most)


def next_job_at(job: str, started_at: int, ended_at: int | None, settings: InboxSettings) -> int:
    """When a job comes next: after its initial delay, then one interval after it last ended; never if disabled."""
    if not settings.enabled:
        return NEVER
    if job == CLEANUP:
        initial_delay, interval = settings.cleanup_initial_delay, settings.cleanup_interval
    else:
        initial_delay, interval = settings.poll_initial_delay, settings.poll_interval
    return after(started_at, initial_delay) if ended_at is None else after(ended_at, interval)
