"""The notifier: sends each receiver what is new to it, shard by shard and in order, and stores how far it came.

A receiver that does not accept is retried, later and later, and holds up no other: each has its own thread and its
own positions. Of all processes the one with the lease in the catalog sends.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple
from uuid import uuid4

from conjoin.fault_points import passing
from conjoin.runtime.broker import Broker
from conjoin.runtime.notices import sources
from conjoin.runtime.notices.notice import Notice, payload_of, shown_notice
from conjoin.runtime.notices.receivers import Receiver, is_for
from conjoin.runtime.notices.sending import Send, Sending
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store.port import ShardStore

LEASE = "notices"
LEASE_US = 60_000_000
AT_ONCE = 100
"""So many are sent before the position is stored; after a crash they are sent again, under the same ids."""
FAR = 1_000
"""So many versions without a notice are passed before the position is stored."""
ATTEMPTS = 3
"""So often a notice is tried that fails by a mistake of ours."""
_log = logging.getLogger(__name__)
_FIRST_WAIT_US = 1_000_000
_LONGEST_WAIT_US = 300_000_000


class NoticeRound(NamedTuple):
    """`sent` notices; `failed` receivers by name, each with why; `missed` commits that were removed before."""

    sent: int
    failed: dict[str, str]
    missed: int = 0


class NoticeRefused(Exception):  # noqa: N818 - it is what the receiver answered
    """The receiver does not have the notice."""


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
        self.refusing: dict[str, str] = {}
        """Receivers that did not accept the last time, each with why."""
        self.left_out = 0
        """Notices that could not be sent, and never will be."""

    def round(self) -> NoticeRound:
        """Everything that is new, to all receivers that are due and accept it."""
        catalog = self._broker.store.catalog
        now = self._clock()
        due = [it for it in self._receivers if self._waits.get(it.name, (0, 0))[1] <= now]
        if not due or not catalog.lease(LEASE, self._holder, now, now + LEASE_US):
            return NoticeRound(0, {})
        with ThreadPoolExecutor(len(due)) as pool:
            tallies = list(pool.map(self._notify, due))
        failed = {it.name: tally.failed for it, tally in zip(due, tallies, strict=True) if tally.failed}
        self.refusing = {name: why for name, why in self.refusing.items() if name not in {it.name for it in due}}
        self.refusing |= failed
        for name in (it.name for it in due):
            if name in failed:
                wait = min(2 * self._waits.get(name, (0, 0))[0] or _FIRST_WAIT_US, _LONGEST_WAIT_US)
                self._waits[name] = (wait, now + wait)
            else:
                self._waits.pop(name, None)
        return NoticeRound(sum(tally.sent for tally in tallies), failed, sum(tally.missed for tally in tallies))

    def _notify(self, receiver: Receiver) -> "_Tally":
        tally = _Tally()
        for index, number in enumerate(self._numbers):
            shard = self._broker.store.shard(index).reader()
            try:
                _ShardNotices(self, receiver, shard, number, tally).send()
            except NoticeRefused as why:
                tally.failed = str(why)
                break
            except Exception as error:  # noqa: BLE001 - the other receivers have nothing to do with it
                _log.exception("%s did not get all notices of shard %s", receiver.name, index)
                tally.failed = text_of(error)
                break
            finally:
                shard.close()
        return tally

    def deliver(self, receiver: Receiver, notice: Notice) -> bool:
        """False: it is not for this receiver. Raises `NoticeRefused`; after a few mistakes of ours it is left out."""
        if not is_for(receiver, self._receivers, notice.kind, notice.name):
            return False
        try:
            passing("notifying")
            body = payload_of(shown_notice(self._broker, notice), receiver.variables)
            problem = self._send(receiver, notice.id, body)
        except Exception as error:
            notice_id, attempts = self._failing.get(receiver.name, ("", 0))
            attempts = attempts + 1 if notice_id == notice.id else 1
            self._failing[receiver.name] = (notice.id, attempts)
            if attempts < ATTEMPTS:
                raise NoticeRefused(text_of(error)) from error
            self.left_out += 1
            _log.error("notice %s for %s is left out: %s", notice.id, receiver.name, text_of(error), exc_info=error)
            return True
        if problem:
            raise NoticeRefused(problem)
        self._failing.pop(receiver.name, None)
        return True

    def note(self, shard: ShardStore, reached: dict[str, str]) -> None:
        sources.note_positions(shard, self._broker.store.catalog, reached)


@dataclass(slots=True)
class _Tally:
    """One receiver in one round: how many notices, why not more, and how many commits were no longer there."""

    sent: int = 0
    failed: str = ""
    missed: int = 0


@dataclass(slots=True)
class _ShardNotices:
    """One receiver, one shard. After a change of the number of shards their numbers, and so the positions, are new."""

    notifier: Notifier
    receiver: Receiver
    shard: ShardStore
    number: int
    tally: _Tally

    def send(self) -> None:
        version, time, noted = sources.read_positions(self.shard)
        first = {self._part("log"): str(sources.LogPosition(version + 1, 0))}
        first |= {self._part(state): str(sources.Mark(time)) for state in sources.WHEN}
        if not any(part in noted for part in first):
            # A new receiver is notified of what happens from now on.
            self.notifier.note(self.shard, first)
            return
        self._send_log(sources.read_log_position(noted[self._part("log")]), version)
        for state in sources.WHEN:
            self._send_inbox(state, sources.read_mark(noted[self._part(state)]))

    def _part(self, source: str) -> str:
        return f"{self.receiver.name}/{self.number}/{source}"

    def _send_log(self, noted: sources.LogPosition, version: int) -> None:
        reached, sent_before = noted, self.tally.sent
        try:
            while reached.version <= version:
                before = reached
                for position, notice in sources.log_notices(self.shard, self.number, reached):
                    self.tally.missed += max(0, position.version - reached.version - 1)
                    self._deliver(notice)
                    reached = position
                    if self.tally.sent - sent_before == AT_ONCE:
                        self._note("log", str(reached))
                        noted, sent_before = reached, self.tally.sent
                if reached == before:
                    break
        finally:
            if self.tally.sent > sent_before or reached.version - noted.version > FAR:
                self._note("log", str(reached))

    def _send_inbox(self, state: str, mark: sources.Mark) -> None:
        reached = mark
        try:
            for position, notice in sources.inbox_notices(self.shard, state, mark):
                self._deliver(notice)
                reached = position
        finally:
            if reached != mark:
                self._note(state, str(reached))

    def _deliver(self, notice: Notice | None) -> None:
        if notice is not None and self.notifier.deliver(self.receiver, notice):
            self.tally.sent += 1

    def _note(self, source: str, position: str) -> None:
        self.notifier.note(self.shard, {self._part(source): position})
