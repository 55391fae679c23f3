"""The history of a message: one line for every attempt, with what was asked and what was answered.

A line is a value of its own and is never read by a rule. Errors in the grace time leave none: they are not noted, or
a queue of messages that come early would write a line each at every poll.
"""

from typing import NamedTuple

from conjoin.kernel.inbox.error_text import cut_text
from conjoin.kernel.inbox.message import TARGET_ERROR, InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Expired, Failed, Outcome, is_counted
from conjoin.kernel.inbox.settings import InboxSettings


class AttemptLine(NamedTuple):
    """`number` counts from 1; the verdict is `failed` with its class, or the target's own."""

    message_key: int
    number: int
    at: int
    asked: str
    verdict: str
    reason: str
    answered: str


def attempt_line(
    booked: InboxMessage, outcome: Outcome, asked: str, now: int, settings: InboxSettings
) -> AttemptLine | None:
    """The line of an attempt, given the message as it was booked; None if there is nothing to note."""
    if isinstance(outcome, Expired):
        return None
    most = settings.error_text_max
    if isinstance(outcome, Delivered):
        told = outcome.verdict, outcome.reason, cut_text(outcome.target, most)
        return AttemptLine(booked.key, booked.attempts + 1, now, cut_text(asked, most), *told)
    if not is_counted(booked, outcome, now, settings):
        return None
    kind = outcome.kind if isinstance(outcome, Failed) else TARGET_ERROR
    told = "failed", kind, cut_text(outcome.text, most)
    return AttemptLine(booked.key, booked.attempts, now, cut_text(asked, most), *told)
