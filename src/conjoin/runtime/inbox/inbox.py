"""The inbox of a store, for whoever serves people or sources: receive, run, clean up, list, show, and operate.

It owns no thread and no clock; `schedule.py` says when to run. Every call is durable when it returns.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from conjoin.errors import InputError
from conjoin.kernel.inbox import InboxMessage, InboxSettings
from conjoin.kernel.inbox.accepting import Arrival
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.operations import Correct, Operation, Refusal
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.counts import Counts
from conjoin.runtime.inbox.homes import MOVING, OWN, REMOTE, SPANNING, home_of_row, moving_group
from conjoin.runtime.inbox.listing import INBOX, Shown, show
from conjoin.runtime.inbox.moving import finish_moves
from conjoin.runtime.inbox.receiving import Reception
from conjoin.runtime.inbox.requests import AT_ONCE, InboxCleanup, InboxOperate
from conjoin.runtime.inbox.runner import NO_TARGETS, InboxRunner, always, clean_up
from conjoin.runtime.inbox.shards import Shards
from conjoin.runtime.inbox.targets import Target
from conjoin.runtime.lists import Asked, Page, page_of
from conjoin.store import tables as t
from conjoin.store.rows import InboxRow

Answer = InboxMessage | Refusal


class Gauges(NamedTuple):
    """How many messages are in each state, and for how long the one that is due first has been due, in milliseconds."""

    states: Mapping[str, int]
    oldest_due_ms: int


class Selected(NamedTuple):
    """What an operation on many messages came to: how many were changed, and how many refused, by code."""

    changed: int
    refused: Mapping[str, int]


class Inbox:
    def __init__(
        self,
        broker: Broker,
        settings: InboxSettings,
        channels: Mapping[str, Channel],
        targets: Mapping[str, Target] = NO_TARGETS,
        at_once: int = AT_ONCE,
    ) -> None:
        self.settings = settings
        self.channels = channels
        self.shards = Shards(broker)
        self._broker = broker
        self._at_once = at_once
        self._runner = InboxRunner(self.shards, settings, targets, at_once)

    def receive(self, channel: str, arrivals: Iterable[Arrival]) -> Counts:
        """Keys are given here, those of the arrivals are not looked at. What is known already is acknowledged."""
        if channel not in self.channels:
            raise InputError([f"there is no channel {channel!r}"])
        reception = Reception(self.channels[channel], self.settings, self.shards.count)
        reception.take(arrivals)
        counts = reception.counts
        for shard, request in reception.requests():
            counts += self.shards.ask(shard, request).counts
        return counts

    def run(self, is_ours: Callable[[], bool] = always) -> Counts:
        """Everything that is due now."""
        return self._runner.run(is_ours)

    def clean_up(self, is_ours: Callable[[], bool] = always) -> Counts:
        """End what is past its expiration, and remove what has been over for long enough; in bounded commits."""
        return clean_up(self.shards, InboxCleanup(self.settings, self._at_once), is_ours)

    def page(self, asked: Asked) -> Page:
        """Raises `InputError` for filters that there are not."""
        return page_of(self._broker, "messages of the inbox", INBOX, asked)

    def show(self, key: int) -> Shown | None:
        return show(self.shards, key)

    def gauges(self) -> Gauges:
        states: dict[str, int] = {}
        due = [now := self.shards.now]
        for shard in range(self.shards.count):
            with self.shards.look(shard) as snapshot:
                for state, count in snapshot.inbox_states().items():
                    states[state] = states.get(state, 0) + count
                for reach in (OWN, SPANNING, REMOTE, MOVING):
                    due += [row.due_at for row in snapshot.inbox_groups_due(reach, now, 1)]
        return Gauges(states, (now - min(due)) // 1_000)

    def operate(self, key: int, operation: Operation, who: str) -> Answer:
        """The message as it is then, or why not."""
        [answer] = self.operate_on([key], operation, who)
        return answer

    def operate_on(self, keys: Sequence[int], operation: Operation, who: str) -> list[Answer]:
        """In the order of the keys."""
        answers: dict[int, Answer] = {}
        for shard, mine in self._homes(keys).items():
            for start in range(0, len(mine), self._at_once):
                some = mine[start : start + self._at_once]
                reply = self.shards.ask(shard, InboxOperate(some, operation, who, self.settings))
                answers |= zip(some, reply.answers, strict=True)
        if isinstance(operation, Correct):
            finish_moves(self.shards)
        return [answers[key] for key in keys]

    def operate_on_all(self, asked: Asked, operation: Operation, who: str) -> Selected:
        """A whole selection, page by page. What comes to it meanwhile may be taken along or not."""
        changed, refused = 0, Counter[str]()
        asked = replace(asked, limit=self._at_once)
        while True:
            page = self.page(asked)
            for answer in self.operate_on([item.key for item in page.items], operation, who) if page.items else ():
                changed += not isinstance(answer, Refusal)
                refused.update([answer.code] if isinstance(answer, Refusal) else ())
            if page.after is None:
                return Selected(changed, dict(refused))
            asked = replace(asked, after=page.after)

    def _homes(self, keys: Sequence[int]) -> dict[int, list[int]]:
        """By shard. What is not to be found is asked for anywhere, and refused there."""
        if any(row.group_key == moving_group(row.key) for row in self._rows(keys)):
            finish_moves(self.shards)
        found = {row.key: home_of_row(row, self.shards.count) for row in self._rows(keys)}
        homes: dict[int, list[int]] = {}
        for key in dict.fromkeys(keys):
            homes.setdefault(found.get(key, 0), []).append(key)
        return homes

    def _rows(self, keys: Sequence[int]) -> Iterator[InboxRow]:
        yield from self.shards.store.rows(t.INBOX, {"key": tuple(keys)}, None, 2 * len(keys))
