"""Tries: one message is offered to our own engine, and what came of it is booked, in the commit that brought it about.

If the answer has to come from another shard, the message is uncertain until a later commit reads it from the message
that it was offered as. It does not lapse meanwhile: the engine has it, so it may not be offered again.
"""

from conjoin.fault_points import passing
from conjoin.kernel.inbox import InboxMessage, InboxSettings
from conjoin.kernel.inbox.message import MAPPING_ERROR, TARGET_ERROR, UNCERTAIN, is_expired
from conjoin.kernel.inbox.outcomes import Expired, Failed, Outcome, intend
from conjoin.kernel.inbox.run import goes_on
from conjoin.kernel.inbox.settings import FAIL_FIRST
from conjoin.runtime.inbox.counts import Counts
from conjoin.runtime.inbox.on_shard.offers import asked_of
from conjoin.runtime.inbox.on_shard.work import InboxWork
from conjoin.runtime.inbox.rows import Filed

_LOST = Failed(MAPPING_ERROR, "what came in with the message is not there any more")


def try_message(
    work: InboxWork, filed: Filed, whole: InboxMessage | None, settings: InboxSettings, counts: Counts
) -> tuple[Filed, Outcome | None]:
    """`whole` is the message with what came in with it. No outcome: it is on its way between shards."""
    if is_expired(filed.message, work.now):
        return work.book(filed, Expired(), "", settings, counts), Expired()
    counts.note_try(filed.message)
    outcome, message_key = _attempted(work, filed.message.key, whole)
    filed = filed._replace(message_key=message_key)
    if outcome is None:
        return work.put(filed, intend(filed.message, work.now), settings), None
    return work.book(filed, outcome, asked_of(whole or filed.message), settings, counts), outcome


def _attempted(work: InboxWork, key: int, whole: InboxMessage | None) -> tuple[Outcome | None, int]:
    if whole is None:
        return _LOST, 0
    if key in work.failing:
        return Failed(TARGET_ERROR, f"a mistake of ours, the log of the server has it: {work.failing[key]}"), 0
    work.tried.append(key)
    passing("trying")
    return work.offers.offer(whole)


def goes_on_after(outcome: Outcome | None, settings: InboxSettings) -> bool:
    """What has expired is out of the way; what is on its way is in the way of those behind it."""
    if outcome is None:
        return settings.mode != FAIL_FIRST
    return isinstance(outcome, Expired) or goes_on(outcome, settings)


def is_on_its_way(filed: Filed) -> bool:
    return filed.message.state == UNCERTAIN and filed.message_key > 0


def late_outcome(work: InboxWork, filed: Filed) -> Outcome | None:
    """Of a message that is on its way, once somebody has answered."""
    return work.offers.late_outcome(filed.message, filed.message_key) if is_on_its_way(filed) else None


def as_planned(work: InboxWork, filed: Filed, horizon: int) -> InboxMessage:
    """A message as a plan is to see it: what is on its way does not lapse as long as its answer can be read."""
    if is_on_its_way(filed) and work.offers.is_known(filed.message_key):
        return not_lapsed(filed.message, horizon)
    return filed.message


def not_lapsed(message: InboxMessage, horizon: int) -> InboxMessage:
    """As if it had been offered just before a run."""
    return message._replace(tried_at=max(message.tried_at or 0, horizon - 1))
