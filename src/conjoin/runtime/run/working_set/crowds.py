"""Crowds: of a key on which very many wait, only those are loaded that a command can concern.

They are read by name and process, the lowest rank first, a page at a time; a process that waits for a name is a lane
here as it is in the kernel. Invariant: of a lane everybody who was idle at the beginning of the run, up to the rank
that was reached, is loaded; whoever was read once is never read again, whatever has become of them since.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation.offers import is_awaited
from conjoin.kernel.verdicts.near_misses import MOST, MOST_LANES
from conjoin.runtime.codec.key_spaces import Loaded, PolicyOf, add_messages, add_subscriptions, digest
from conjoin.store.port import ShardSnapshot, Standing
from conjoin.store.rows import SubscriptionRow

MOST_WAITING = 100
"""A key with so many subscriptions has a crowd."""
PAGE = 100
_WAITING: tuple[Standing, ...] = ("idle", "busy")
_BEYOND = "g"
"""Comes after every digit of a digest."""
_NAME, _LANE, _RANK = 32, 64, 80
"""So many characters of a place in the crowd are those of its name, of its lane, and all but the key."""


@dataclass(slots=True)
class CrowdLane:
    place: str
    kind: Standing
    process_id: str
    reached: str
    count: int = 0
    has_more: bool = True

    @property
    def rank(self) -> int:
        """Nobody of the lane with this rank or a lower one is missing."""
        return int(self.reached[_LANE:_RANK], 16)


class Crowd:
    def __init__(self, snapshot: ShardSnapshot, loaded: Loaded, policy_of: PolicyOf) -> None:
        self._snapshot = snapshot
        self._loaded = loaded
        self._policy_of = policy_of
        self._place = (loaded.space.tenant_id, loaded.space.key)
        self._lanes: dict[tuple[Standing, str], CrowdLane] = {}
        self._names: set[str] = set()
        self._names_closed: set[str] = set()
        self._has_others = False

    def some(self, keys: Iterable[int]) -> None:
        """Subscriptions by their keys."""
        missing = [key for key in keys if key not in self._loaded.rows and key not in self._loaded.space.subscriptions]
        if missing:
            self._add(self._snapshot.subscriptions(*self._place, missing))

    def closing(self, key: int) -> None:
        """One that may be closed; then it is the last one closed of its name, in the place of another."""
        self.some([key])
        its = self._loaded.space.subscriptions.get(key) or self._loaded.awaiting.get(key)
        if its is not None:
            self._last_closed(its.name)

    def name(self, name: str) -> None:
        """The first of each process that wait for a message with this name, idle and busy."""
        self._last_closed(name)
        if name not in self._names:
            self._names.add(name)
            for kind in _WAITING:
                self._lanes_between(kind, digest(name), digest(name) + _BEYOND)

    def lanes(self, kind: Standing, name: str) -> list[CrowdLane]:
        """Those of a name that go on behind what is loaded."""
        mine = (kind, digest(name))
        return [lane for lane in self._lanes.values() if lane.has_more and (lane.kind, lane.place[:_NAME]) == mine]

    def more(self, lanes: Iterable[CrowdLane]) -> bool:
        """The next page of each. Was there any?"""
        found = False
        for lane in lanes:
            rows = self._snapshot.crowd(lane.kind, *self._place, (lane.reached, lane.place + _BEYOND), PAGE)
            self._add(rows)
            self._note(lane.kind, rows)
            lane.has_more = len(rows) == PAGE
            found = True
        return found

    def until_awaited(self, message: Message) -> None:
        """All who are busy, as far as it takes to know whether one of them would take it."""
        self.name(message.name)
        topic = self._loaded.space.topics.get(message.name)
        while topic is not None and not is_awaited(topic, message):
            if not self.more(self.lanes("busy", message.name)):
                return

    def near(self, name: str) -> None:
        """Whoever a near miss of a message with this name could be."""
        self.name(name)
        for kind in _WAITING:
            while self.more([lane for lane in self.lanes(kind, name) if lane.count < MOST]):
                pass
        if not self._has_others:
            self._has_others = True
            for kind in _WAITING:
                self._lanes_between(kind, "", _BEYOND, MOST_LANES + 1)

    def receivers_of(self, message: Message) -> None:
        """Those who have it: whether it is still on its way is seen by them."""
        who = (getattr(target, "subscription", None) for target in message.targets)
        self.some(subscription.key for subscription in who if subscription is not None)

    def _last_closed(self, name: str) -> None:
        if name not in self._names_closed:
            self._names_closed.add(name)
            self._add(self._snapshot.crowd("kept", *self._place, (digest(name), digest(name) + _BEYOND), PAGE))

    def _lanes_between(self, kind: Standing, after: str, end: str, most: int | None = None) -> None:
        """The beginning of each lane: what follows behind a page of one is skipped."""
        lanes: dict[str, None] = {}
        while most is None or len(lanes) < most:
            rows = self._snapshot.crowd(kind, *self._place, (after, end), PAGE)
            self._add(rows)
            fresh = [row for row in rows if (kind, row.crowd[:_LANE]) not in self._lanes]
            self._note(kind, fresh)
            lanes.update(dict.fromkeys(row.crowd[:_LANE] for row in rows))
            is_last = len(rows) < PAGE
            for place in dict.fromkeys(row.crowd[:_LANE] for row in fresh):
                self._lanes[kind, place].has_more = not is_last and place == rows[-1].crowd[:_LANE]
            if is_last:
                return
            after = rows[-1].crowd[:_LANE] + _BEYOND

    def _note(self, kind: Standing, rows: Iterable[SubscriptionRow]) -> None:
        for row in rows:
            place = row.crowd[:_LANE]
            lane = self._lanes.get((kind, place))
            if lane is None:
                lane = self._lanes[kind, place] = CrowdLane(place, kind, row.process_id, row.crowd)
            lane.reached = row.crowd
            lane.count += 1

    def _add(self, rows: Sequence[SubscriptionRow]) -> None:
        loaded = self._loaded
        busy = {row.busy_with for row in rows if row.busy_with and row.key not in loaded.rows}
        missing = sorted(busy - loaded.messages.keys())
        if missing:
            add_messages(loaded, self._snapshot.messages(missing), self._policy_of)
        add_subscriptions(loaded, rows)
