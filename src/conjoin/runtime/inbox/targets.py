"""Targets: remote systems that take messages of the inbox. How each is called is written elsewhere (`runtime/targets`).

A target tells what came of a call as an outcome and does not raise: taken over, failed (with its class, and whether
trying again is of use), or not answered. It may be called from several threads at a time.
"""

from collections.abc import Mapping
from typing import Protocol

from conjoin.kernel.inbox import InboxMessage
from conjoin.kernel.inbox.message import TARGET_ERROR
from conjoin.kernel.inbox.outcomes import Failed, Outcome, Unanswered


class Target(Protocol):
    def deliver(self, message: InboxMessage) -> Outcome:
        """Send a message, with its payload and its hint, and wait for the answer."""


def deliver(message: InboxMessage, targets: Mapping[str, Target]) -> Outcome:
    target = targets.get(message.target)
    if target is None:
        return Failed(TARGET_ERROR, f"there is no target {message.target!r}")
    try:
        return target.deliver(message)
    except Exception as error:  # noqa: BLE001 - the border to whoever wrote the target: one message fails, not the run
        return Unanswered(f"{type(error).__name__}: {error}")
