"""A remote target: a message goes in, an outcome comes out, and one call lies between.

It puts a dialect and a carrier together and adds nothing but the clock. It never raises for what a message, a target
or a network may do, so none of them ends a batch.
"""

from collections.abc import Callable
from dataclasses import replace
from time import time_ns

from conjoin.kernel.inbox.message import InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Unanswered
from conjoin.runtime.targets.calls import TargetAnswer, TargetDialect
from conjoin.runtime.targets.http import HttpCarrier


def _now() -> int:
    return time_ns() // 1_000


class RemoteTarget:
    """Any number of threads may deliver at once. `clock` gives the instant in microseconds."""

    def __init__(self, dialect: TargetDialect, carrier: HttpCarrier, clock: Callable[[], int] = _now) -> None:
        self._dialect = dialect
        self._carrier = carrier
        self._clock = clock

    def deliver(self, message: InboxMessage) -> Delivered | Failed | Unanswered:
        request = self._dialect.request_of(message, self._clock())
        if isinstance(request, Failed):
            return request
        answer = self._carrier.call(request)
        outcome = self._dialect.outcome_of(answer) if isinstance(answer, TargetAnswer) else answer
        if isinstance(outcome, Delivered):
            return outcome
        return replace(outcome, text=self._carrier.credentials.hide(outcome.text))

    def asked(self, message: InboxMessage) -> str:
        """What `deliver` asks, for the history of attempts; empty if the message cannot be mapped."""
        request = self._dialect.request_of(message, self._clock())
        if isinstance(request, Failed):
            return ""
        return f"{request.method} {self._carrier.address}{request.path} {request.body.decode()}"

    def close(self) -> None:
        self._carrier.close()
