"""A tiny inbox: rows in a dictionary, a target that is a function, and the runs of the schedule over them.

It does what a real runner does and decides nothing: what is due comes from `due_at_of`, page by page, who is tried
from `plan`, what is booked from `book`. Times are seconds for whoever writes a test, microseconds inside.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from conjoin.kernel.inbox import PRESETS, InboxMessage, InboxSettings, book, due_at_of, operate, plan
from conjoin.kernel.inbox.due import RUN, next_job_at
from conjoin.kernel.inbox.groups import group_key_of
from conjoin.kernel.inbox.message import TARGET_ERROR, Hint
from conjoin.kernel.inbox.operations import Operation, OperationRefused
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Outcome, intend
from conjoin.kernel.inbox.run import goes_on, states_in_plan
from conjoin.kernel.instants import ALWAYS

S = 1_000_000
MINUTE = 60 * S

NOBODY = Failed(TARGET_ERROR, "nobody waits")
Target = Callable[[InboxMessage, int], Outcome | None]
"""What a try comes to; None: whoever tried it is gone before the answer."""


def always_fails(message: InboxMessage, now: int) -> Outcome:
    return NOBODY


def always_takes(message: InboxMessage, now: int) -> Outcome:
    return Delivered()


def fails_for(*keys: int) -> Target:
    return lambda message, now: NOBODY if message.key in keys else Delivered()


def preset(name: str = "conjoin", **changes: Any) -> InboxSettings:
    return replace(PRESETS[name], **changes)


def make(key: int = 1, group: str = "k", at: int = 0, **about: Any) -> InboxMessage:
    """A message that came in at a second; its position is its key, so smaller keys come first."""
    message = InboxMessage(key, "orders", f"m-{key}", b"{}", at * S, at * S, key, hint=Hint("paid", group))
    message = message._replace(**about)
    return message._replace(group_key=group_key_of(message))


class Inbox:
    """`tries` holds the second, the key and the outcome of every try, in order."""

    def __init__(self, settings: InboxSettings, target: Target, *messages: InboxMessage, remote: bool = False) -> None:
        self.settings = settings
        self.target = target
        self.remote = remote
        self.rows: dict[int, InboxMessage] = {}
        self.tries: list[tuple[float, int, Outcome]] = []
        self.pages = 0
        self.add(*messages)

    def add(self, *messages: InboxMessage) -> None:
        self.rows |= {message.key: message for message in messages}

    def due_at(self, key: int) -> int | None:
        return due_at_of(self.rows[key], self.settings)

    def tried(self) -> list[tuple[float, int]]:
        return [(second, key) for second, key, _ in self.tries]

    def delivered(self) -> list[int]:
        return [key for _, key, outcome in self.tries if isinstance(outcome, Delivered)]

    def state(self, key: int) -> str:
        return self.rows[key].state

    def polls(self, until: float, started_at: float = 0) -> None:
        """All runs of the schedule up to an instant."""
        now = next_job_at(RUN, int(started_at * S), None, self.settings)
        while now <= until * S:
            self.run(now / S)
            now = next_job_at(RUN, int(started_at * S), now, self.settings)

    def run(self, second: float) -> list[int]:
        """One run: whoever was tried in it."""
        now, before, seen = round(second * S), len(self.tries), set()
        for page in self._pages(now):
            for key in page:
                group = self.rows[key].group_key
                if group not in seen:
                    seen.add(group)
                    self._run_group(group, now)
        return [key for _, key, _ in self.tries[before:]]

    def operate(self, key: int, operation: Operation, second: float) -> str:
        """Carry an operation out; the code of its refusal, or nothing."""
        answer = operate(self.rows[key], operation, round(second * S), self.settings)
        if isinstance(answer, OperationRefused):
            return answer.code
        self.rows[key] = answer
        return ""

    def _pages(self, now: int) -> Iterator[list[int]]:
        """What is due, a page at a time, each after the last row of the one before."""
        last = (ALWAYS, -1)
        while True:
            due = sorted((at, key) for key in self.rows if (at := self.due_at(key)) is not None and at <= now)
            page = [place for place in due if place > last][: self.settings.page_size]
            if not page:
                return
            self.pages += 1
            last = page[-1]
            yield [key for _, key in page]

    def _run_group(self, group: str, now: int) -> None:
        keep = states_in_plan(self.settings)
        mates = [m for m in self.rows.values() if m.group_key == group]
        mates = [m for m in mates if m.state in keep or ((at := self.due_at(m.key)) is not None and at <= now)]
        decided = plan(mates, now, self.settings)
        for message, outcome in decided.settled:
            self.rows[message.key] = book(message, outcome, now, self.settings)
        for message in decided.tries:
            if self.remote:
                message = self.rows[message.key] = intend(message, now)
            answer = self.target(message, now)
            if answer is None:
                return
            self.tries.append((now / S, message.key, answer))
            self.rows[message.key] = book(message, answer, now, self.settings)
            if not goes_on(answer, self.settings):
                break
