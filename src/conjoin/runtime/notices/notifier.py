"""The notifier: tells each receiver what is new to it, shard by shard and in order, and notes how far it came.

A receiver that does not say yes is tried again, later and later, and holds up nobody else: each has its own thread and
its own place. Of all processes the one with the lease in the catalog tells.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple
from uuid import uuid4

from conjoin.fault_points import passing
from conjoin.runtime.broker import Broker
from conjoin.runtime.notices.as_shown import shown_notice
from conjoin.runtime.notices.configuration import Receiver, is_for
from conjoin.runtime.notices.from_inbox import WHEN, Mark, inbox_notices, read_mark
from conjoin.runtime.notices.from_log import LogPosition, log_notices, read_place
from conjoin.runtime.notices.notice import Notice, payload_of
from conjoin.runtime.notices.positions import note_positions, read_positions
from conjoin.runtime.notices.sending import Send, Sending
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store.port import ShardStore

LEASE = "notices"
LEASE_US = 60_000_000
AT_ONCE = 100
"""So many are told before it is noted; after a crash they are told again, under the same ids."""
FAR = 1_000
"""So many versions without anything to tell are passed before that is noted."""
ATTEMPTS = 3
"""So often a notice is tried that fails by a mistake of ours."""
_log = logging.getLogger(__name__)
_FIRST_WAIT_US = 1_000_000
_LONGEST_WAIT_US = 300_000_000


class NoticeRound(NamedTuple):
    """`told` notices; `failed` receivers by name, each with why; `missed` commits that were removed untold."""

    told: int
    failed: dict[str, str]
    missed: int = 0


class NoticeRefused(Exception):  # noqa: N818 - it is what the receiver said
    """The receiver was not told."""


class Notifier:
    """Its rounds belong to one thread."""

    def __init__(
        self,
        broker: Broker,
        receivers: Sequence[Receiver],
        send: Send | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._clock = clock or broker.store.catalog.now
        self._numbers = [broker.homes.number_of(index) for index in range(broker.shard_count)]
        self._broker = broker
        self._receivers = receivers
        self._send = send or Sending()
        self._holder = uuid4().hex
        self._waits: dict[str, tuple[int, int]] = {}
        """Receivers that have refused: how long they are left alone, and until when."""
        self._failing: dict[str, tuple[str, int]] = {}
        """The notice of each receiver that could not be sent by a mistake of ours, and how often it was tried."""
        self.left_out = 0
        """Notices that could not be sent, and never will be."""

    def round(self) -> NoticeRound:
        """Everything that is new, to everybody who is due and takes it."""
        catalog = self._broker.store.catalog
        now = self._clock()
        due = [it for it in self._receivers if self._waits.get(it.name, (0, 0))[1] <= now]
        if not due or not catalog.lease(LEASE, self._holder, now, now + LEASE_US):
            return NoticeRound(0, {})
        with ThreadPoolExecutor(len(due)) as pool:
            told = list(pool.map(self._tell, due))
        failed = {it.name: its.failed for it, its in zip(due, told, strict=True) if its.failed}
        for receiver in due:
            self._book(receiver.name, now, receiver.name in failed)
        return NoticeRound(sum(its.told for its in told), failed, sum(its.missed for its in told))

    def _book(self, name: str, now: int, has_failed: bool) -> None:
        if not has_failed:
            self._waits.pop(name, None)
            return
        wait = min(2 * self._waits.get(name, (0, 0))[0] or _FIRST_WAIT_US, _LONGEST_WAIT_US)
        self._waits[name] = (wait, now + wait)

    def _tell(self, receiver: Receiver) -> "_Told":
        told = _Told()
        for index, number in enumerate(self._numbers):
            shard = self._broker.store.shard(index).reader()
            try:
                _Telling(self, receiver, shard, number, told).run()
            except NoticeRefused as why:
                told.failed = str(why)
                break
            except Exception as error:  # noqa: BLE001 - the other receivers have nothing to do with it
                _log.exception("%s was not told of all on shard %s", receiver.name, index)
                told.failed = text_of(error)
                break
            finally:
                shard.close()
        return told

    def wants(self, receiver: Receiver, notice: Notice) -> bool:
        return is_for(receiver, self._receivers, notice.kind, notice.name)

    def deliver(self, receiver: Receiver, notice: Notice) -> None:
        try:
            passing("notifying")
            problem = self._send(
                receiver, notice.id, payload_of(shown_notice(self._broker, notice), receiver.variables)
            )
        except Exception as error:  # noqa: BLE001 - a notice that cannot be sent keeps no other back for ever
            self._note_failure(receiver, notice, error)
            return
        if problem:
            raise NoticeRefused(problem)
        self._failing.pop(receiver.name, None)

    def _note_failure(self, receiver: Receiver, notice: Notice, error: Exception) -> None:
        """It is tried a few times, as the receiver waits longer and longer; then it is left out."""
        notice_id, attempts = self._failing.get(receiver.name, ("", 0))
        attempts = attempts + 1 if notice_id == notice.id else 1
        self._failing[receiver.name] = (notice.id, attempts)
        if attempts < ATTEMPTS:
            raise NoticeRefused(text_of(error)) from error
        self.left_out += 1
        _log.error("notice %s for %s is left out: %s", notice.id, receiver.name, text_of(error), exc_info=error)

    def note(self, shard: ShardStore, reached: dict[str, str]) -> None:
        note_positions(shard, self._broker.store.catalog, reached)


@dataclass(slots=True)
class _Told:
    """One receiver in one round: how many notices, why not more, and how much was not there any more."""

    told: int = 0
    failed: str = ""
    missed: int = 0


class _Telling:
    """One receiver, one shard. After a change of the number of shards, numbers and so the places are new."""

    def __init__(self, notifier: Notifier, receiver: Receiver, shard: ShardStore, number: int, told: _Told) -> None:
        self._told = told
        self._notifier = notifier
        self._receiver = receiver
        self._shard = shard
        self._number = number
        self._version, self._time, self._noted = read_positions(shard)

    def run(self) -> None:
        first = {self._part("log"): str(LogPosition(self._version + 1, 0))}
        first |= {self._part(state): str(Mark(self._time)) for state in WHEN}
        if not any(part in self._noted for part in first):
            # It is told what happens from now on.
            self._notifier.note(self._shard, first)
            return
        self._run_log(read_place(self._noted[self._part("log")]))
        for state in WHEN:
            self._run_inbox(state, read_mark(self._noted[self._part(state)]))

    def _part(self, source: str) -> str:
        return f"{self._receiver.name}/{self._number}/{source}"

    def _run_log(self, noted: LogPosition) -> None:
        reached = noted
        told_before = self._told.told
        try:
            while reached.version <= self._version:
                before = reached
                for place, notice in log_notices(self._shard, self._number, reached):
                    self._told.missed += max(0, place.version - reached.version - 1)
                    self._deliver(notice)
                    reached = place
                    if self._told.told - told_before == AT_ONCE:
                        self._note("log", str(reached))
                        noted, told_before = reached, self._told.told
                if reached == before:
                    break
        finally:
            if self._told.told > told_before or reached.version - noted.version > FAR:
                self._note("log", str(reached))

    def _deliver(self, notice: Notice | None) -> None:
        if notice is not None and self._notifier.wants(self._receiver, notice):
            self._notifier.deliver(self._receiver, notice)
            self._told.told += 1

    def _run_inbox(self, state: str, mark: Mark) -> None:
        reached = noted = mark
        try:
            for place, notice in inbox_notices(self._shard, state, mark):
                self._deliver(notice)
                reached = place
        finally:
            if reached != noted:
                self._note(state, str(reached))

    def _note(self, source: str, position: str) -> None:
        self._notifier.note(self._shard, {self._part(source): position})
