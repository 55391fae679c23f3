"""The inbox of a store: receive, run, clean up, list, show, and operate.

It owns no thread and no clock; `schedule.py` says when to run. Every call is durable when it returns. Several threads
may call it at once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.kernel.inbox import InboxMessage, InboxSettings, operate
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.operations import Correct, Operation, OperationRefused
from conjoin.runtime.broker import Broker
from conjoin.runtime.explain.inbox_messages import explained
from conjoin.runtime.inbox.cross_shard import Shards, finish_moves
from conjoin.runtime.inbox.listing import INBOX, Shown, hidden_view, show
from conjoin.runtime.inbox.mapping import read_hint
from conjoin.runtime.inbox.metrics import Counts, Gauges, InboxMeter, Sample
from conjoin.runtime.inbox.placement import MOVING, OWN, REMOTE, SPANNING, home_of_row, moving_group
from conjoin.runtime.inbox.receiving import ChannelRows, Reception, Row, Taken
from conjoin.runtime.inbox.remote_run import NO_TARGETS, Target
from conjoin.runtime.inbox.requests import AT_ONCE, InboxCleanup, InboxOperate
from conjoin.runtime.inbox.rows import read_row
from conjoin.runtime.inbox.runner import InboxRunner, RunMaker, always, clean_up
from conjoin.runtime.ingest.rows import Unusable
from conjoin.runtime.reading.lists import ListPage, ListQuery, page_of
from conjoin.runtime.targets import RemoteTarget
from conjoin.runtime.visibility.hiding import MARK
from conjoin.store import tables as t
from conjoin.store.rows import InboxRow

Answer = InboxMessage | OperationRefused


class Selected(NamedTuple):
    """The result of an operation on many messages: how many were changed, and how many refused, by code."""

    changed: int
    refused: Mapping[str, int]


def _not_found(key: int) -> OperationRefused:
    return OperationRefused("not_found", f"there is no message {key} in the inbox")


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
        self._targets = targets
        self._meter = InboxMeter()
        self._at_once = at_once
        self._runner: RunMaker = InboxRunner(self.shards, settings, targets, at_once)

    def receive(self, channel: str, arrivals: Iterable[Taken]) -> Counts:
        """The keys of the arrivals are not used: shards give new ones. What is known already is acknowledged."""
        reception = self._reception(channel)
        reception.take(arrivals)
        counts = reception.counts
        for shard, request in reception.requests():
            counts += self.shards.ask(shard, request).counts
        return self._meter.count(counts)

    def receive_rows(self, channel: str, rows: Iterable[Row]) -> Counts:
        """The same with rows as a source has them, which are read as their channel says."""
        reader, now = ChannelRows(self.channel(channel), self.settings), self.shards.now
        return self.receive(channel, (reader.take(row, now) for row in rows))

    def receive_corrected(self, channel: str, row: Row) -> OperationRefused | None:
        """A row that was a dead letter. One that still is no message is refused; one that is here already is taken."""
        reception = self._reception(channel)
        reception.take([ChannelRows(self.channel(channel), self.settings).take(row, self.shards.now)])
        if reception.rejected:
            return OperationRefused("invalid", f"the row {reception.rejected[0].text}")
        if reception.counts.ignored or reception.counts.dropped:
            return OperationRefused("invalid", f"channel {channel} does not want such a row")
        for shard, request in reception.requests():
            self._meter.count(self.shards.ask(shard, request).counts)
        return None

    def _reception(self, channel: str) -> Reception:
        policies = self._broker.catalog.view().policies
        return Reception(self.channel(channel), self.settings, self.shards.count, policies)

    def applicable(self, key: int, operations: Mapping[str, Operation]) -> list[str]:
        """The words of those that would be taken, and would change the message."""
        rows = {row.key: row for row in self._rows([key])}
        if key not in rows:
            return []
        message, now = read_row(rows[key]).message, self.shards.now
        answers = {word: operate(message, operation, now, self.settings) for word, operation in operations.items()}
        return [word for word, it in answers.items() if not isinstance(it, OperationRefused) and it != message]

    def run(self, is_ours: Callable[[], bool] = always) -> Counts:
        """Everything that is due now."""
        with self._meter.timed():
            return self._meter.count(self._runner.run(is_ours))

    def clean_up(self, is_ours: Callable[[], bool] = always) -> Counts:
        """End what is past its expiration, and remove what has been over for long enough; in bounded commits."""
        return self._meter.count(self._cleaned_up(InboxCleanup(self.settings, self._at_once), is_ours))

    def _cleaned_up(self, request: InboxCleanup, is_ours: Callable[[], bool]) -> Counts:
        shards = range(self.shards.count)
        return sum((clean_up(partial(self.shards.ask, shard), request, is_ours) for shard in shards), Counts())

    def metrics(self) -> list[Sample]:
        """What this process has done with the inbox so far, and the state of the inbox now."""
        return self._meter.samples(self.gauges())

    def close(self) -> None:
        """Closes the connections of its targets; the broker belongs to its opener."""
        for target in self._targets.values():
            if isinstance(target, RemoteTarget):
                target.close()

    def page(self, query: ListQuery) -> ListPage:
        """Raises `InputError` for unknown filters."""
        return page_of(self._broker, "messages of the inbox", INBOX, query)

    def show(self, key: int) -> Shown | None:
        """With hidden variables marked."""
        whole = show(self.shards, key)
        return None if whole is None else hidden_view(self._broker.hiding, explained(self._broker, whole))

    def gauges(self) -> Gauges:
        states = Counter[str]()
        due = [now := self.shards.now]
        for shard in range(self.shards.count):
            with self.shards.look(shard) as snapshot:
                states.update(snapshot.inbox_states())
                for reach in (OWN, SPANNING, REMOTE, MOVING):
                    due += [row.due_at for row in snapshot.inbox_groups_due(reach, now, 1)]
        return Gauges(states, (now - min(due)) // 1_000)

    def operate(self, key: int, operation: Operation, who: str) -> Answer:
        """The message as it is then, or why not."""
        return self.operate_on([key], operation, who)[0]

    def operate_on(self, keys: Sequence[int], operation: Operation, who: str) -> list[Answer]:
        """In the order of the keys."""
        if isinstance(operation, Correct) and operation.hint is None and operation.payload is not None:
            return [self.correct(key, operation.payload, {}, who) for key in keys]
        return self._operate_on(keys, operation, who)

    def correct(self, key: int, payload: bytes | None, changes: Mapping[str, Any], who: str) -> Answer:
        """Another payload, of which its channel makes another hint; and changes of the hint, in any spelling.

        Raises `InputError` for changes that cannot be.
        """
        shown = show(self.shards, key)
        if shown is None:
            return _not_found(key)
        if self._broker.hiding.is_active and MARK in f"{payload!r} {changes!r}":
            return OperationRefused("invalid", f"write out what is {MARK} here, or it is sent like that")
        hint, channel = shown.hint, self.channels.get(shown.item.channel)
        if payload is not None:
            try:
                reader = None if channel is None else ChannelRows(channel, self.settings)
                mapped = None if reader is None else reader.hint_of(payload, shown.headers, self.shards.now)
            except Unusable as why:
                return OperationRefused("invalid", f"the payload {why}")
            hint = mapped or hint._replace(variables={})
        hint = read_hint(changes, hint)
        is_changed = bool(changes) or hint != shown.hint
        return self._operate_on([key], Correct(payload, hint if is_changed else None), who)[0]

    def _operate_on(self, keys: Sequence[int], operation: Operation, who: str) -> list[Answer]:
        answers: dict[int, Answer] = {}
        for shard, mine in self._homes(keys).items():
            for start in range(0, len(mine), self._at_once):
                some = mine[start : start + self._at_once]
                reply = self.shards.ask(shard, InboxOperate(some, operation, who, self.settings))
                answers |= zip(some, reply.answers, strict=True)
        if isinstance(operation, Correct):
            finish_moves(self.shards)
        return [answers[key] for key in keys]

    def operate_on_all(self, query: ListQuery, operation: Operation, who: str) -> Selected:
        """A whole selection, page by page. What comes to it meanwhile may be included or not."""
        return self._on_all(query, lambda keys: self.operate_on(keys, operation, who))

    def rehearse_on_all(self, query: ListQuery, operation: Operation) -> Selected:
        """What the same would result in; nothing is changed."""
        return self._on_all(query, lambda keys: self._rehearsed(keys, operation))

    def rehearse_on(self, keys: Sequence[int], operation: Operation) -> Selected:
        """What `operate_on` would result in; nothing is changed."""
        return _selected(self._rehearsed(keys, operation))

    def _on_all(self, query: ListQuery, act: Callable[[Sequence[int]], list[Answer]]) -> Selected:
        changed, refused = 0, Counter[str]()
        query = replace(query, limit=self._at_once)
        while True:
            page = self.page(query)
            some = _selected(act([item.key for item in page.items]) if page.items else ())
            changed += some.changed
            refused.update(some.refused)
            if page.after is None:
                return Selected(changed, dict(refused))
            query = replace(query, after=page.after)

    def _rehearsed(self, keys: Sequence[int], operation: Operation) -> list[Answer]:
        """In the order of the keys. One that moves between shards is there twice, and counts where it arrives."""
        found: dict[int, InboxRow] = {}
        for row in self._rows(keys):
            if row.key not in found or row.group_key != moving_group(row.key):
                found[row.key] = row
        now, settings = self.shards.now, self.settings
        return [
            operate(read_row(found[key]).message, operation, now, settings) if key in found else _not_found(key)
            for key in keys
        ]

    def channel(self, name: str) -> Channel:
        """Raises `InputError` if there is none of that name."""
        if name in self.channels:
            return self.channels[name]
        known = f"there are {', '.join(self.channels)}" if self.channels else "none is configured"
        raise InputError([f"there is no channel {name!r}; {known}"])

    def _homes(self, keys: Sequence[int]) -> dict[int, list[int]]:
        """By shard. What cannot be found is sent to any shard, and refused there."""
        if any(row.group_key == moving_group(row.key) for row in self._rows(keys)):
            finish_moves(self.shards)
        found = {row.key: home_of_row(row, self.shards.count) for row in self._rows(keys)}
        homes: dict[int, list[int]] = {}
        for key in dict.fromkeys(keys):
            homes.setdefault(found.get(key, 0), []).append(key)
        return homes

    def _rows(self, keys: Sequence[int]) -> Iterator[InboxRow]:
        yield from self.shards.store.rows(t.INBOX, {"key": tuple(keys)}, None, 2 * len(keys))


def _selected(answers: Iterable[Answer]) -> Selected:
    codes = [answer.code if isinstance(answer, OperationRefused) else None for answer in answers]
    return Selected(codes.count(None), dict(Counter(code for code in codes if code is not None)))
