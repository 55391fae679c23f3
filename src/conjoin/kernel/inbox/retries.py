"""Retries: how long a message waits after an error, and when it is given up.

`delay = base ^ exponent`, in units, up to a cap. What the exponent is, what the cap bounds and what the maximum
means are settings, because the document and its program disagree on each of them.
"""

from conjoin.kernel.inbox.message import InboxMessage
from conjoin.kernel.inbox.settings import AGE, ATTEMPT, EXCEEDED, InboxSettings
from conjoin.kernel.instants import NEVER, after


def delay_ms(attempts: int, settings: InboxSettings) -> int:
    """How long to wait after so many errors."""
    exponent = attempts if settings.backoff_exponent == ATTEMPT else attempts - 1
    try:
        delay = int(settings.backoff_base**exponent * settings.backoff_unit)
    except OverflowError:
        delay = NEVER
    return delay if settings.backoff_cap_on == AGE else min(delay, settings.backoff_cap)


def next_retry_at(message: InboxMessage, attempts: int, now: int, settings: InboxSettings) -> int:
    """When a message that has failed so often, just now, is tried again."""
    retry_at = after(now, delay_ms(attempts, settings))
    if settings.backoff_cap_on == AGE:
        # A message older than the cap is tried at every run: so says the rule, and the maximum ends it.
        retry_at = max(now, min(retry_at, after(message.ingested_at, settings.backoff_cap)))
    return retry_at


def is_exhausted(attempts: int, settings: InboxSettings) -> bool:
    """Was it tried often enough? Never before its first error."""
    most = settings.max_attempts + 1 if settings.max_rule == EXCEEDED else settings.max_attempts
    return attempts >= max(most, 1)
