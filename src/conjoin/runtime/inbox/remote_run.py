"""The calls of a run on one shard: of each group for a remote target the next message, until nothing is due any more.

What is about to be sent is noted before the call, and what came of it after. Whoever runs this may die in between, or
be run twice: the second one finds the note, and leaves the message alone until its answer cannot come any more.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from typing import Protocol

from conjoin.kernel.inbox import InboxMessage, InboxSettings
from conjoin.kernel.inbox.message import TARGET_ERROR
from conjoin.kernel.inbox.outcomes import Failed, Outcome, Unanswered
from conjoin.runtime.inbox import requests as r
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.on_shard.attempts import request_text


class Target(Protocol):
    """A remote system that takes messages of the inbox. Several threads may call it at once."""

    def deliver(self, message: InboxMessage) -> Outcome:
        """Send a message, with its payload and its hint, and wait for the answer. It does not raise."""


NO_TARGETS: Mapping[str, Target] = {}
AskShard = Callable[[r.InboxRequest], r.InboxReply]
"""Carries out a request on one shard."""


@dataclass(slots=True)
class RemoteRun:
    """`limit` is how many messages are about to be sent at a time: so few are uncertain after a crash."""

    ask: AskShard
    settings: InboxSettings
    horizon: int
    targets: Mapping[str, Target]
    limit: int
    counts: Counts = field(default_factory=Counts)
    _sent: Counter[str] = field(default_factory=Counter)

    def run(self, pool: ThreadPoolExecutor, goes_on: Callable[[], bool]) -> bool:
        """`goes_on` is called between rounds of calls. Is nothing due any more?"""
        request = r.InboxIntend(self.settings, self.horizon, tuple(self.targets), self.limit)
        while goes_on():
            reply = self.ask(request)
            self.counts += reply.counts
            if not reply.looked_at:
                return True
            self._send(reply.to_send, pool)
        return False

    def _send(self, messages: list[InboxMessage], pool: ThreadPoolExecutor) -> None:
        self._sent.update(message.group_key for message in messages)
        outcomes = pool.map(deliver, messages, repeat(self.targets))
        booked = [(it.key, outcome, request_text(it)) for it, outcome in zip(messages, outcomes, strict=True)]
        size = self.settings.batch_size
        rested = [group for group, number in self._sent.items() if 0 < size <= number]
        self.counts += self.ask(r.InboxBook(booked, self.settings, self.horizon, rested)).counts


def deliver(message: InboxMessage, targets: Mapping[str, Target]) -> Outcome:
    target = targets.get(message.target)
    if target is None:
        return Failed(TARGET_ERROR, f"there is no target {message.target!r}")
    try:
        return target.deliver(message)
    except Exception as error:  # noqa: BLE001 - the border to the code of a target: one message fails, not the run
        return Unanswered(f"{type(error).__name__}: {error}")
