"""Loaded key spaces: what one run has read of some correlation keys, as the state that the rules look at.

Of a key with very many subscriptions only those are loaded that a command can concern: its `Crowd` reads them by name
and process, the lowest rank first, a page at a time; a process that waits for a name is a lane here as it is in the
kernel. Invariant: of a lane everybody who was idle at the beginning of the run, up to the rank that was reached, is
loaded; a row that was read once is never read again, whatever has become of it since. Where a crowd is not in order (a
store of an earlier version), all of it is read, and the commit puts it in order. Of a key with very many live messages
only the oldest are here, and those that are held (`large_keys.py`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conjoin.kernel.correlation import KeySpace, Message
from conjoin.kernel.correlation.events import MessageCorrelated
from conjoin.kernel.correlation.offers import is_awaited
from conjoin.kernel.verdicts.near_misses import MOST, MOST_LANES
from conjoin.runtime.codec.key_spaces import Loaded, add_messages, add_subscriptions, digest, read_spaces
from conjoin.runtime.codec.messages import PolicyOf
from conjoin.runtime.engine.business_ids import Stored
from conjoin.runtime.engine.key_spaces import Place, SpaceStore
from conjoin.runtime.run.working_set.loaded_instances import LoadedState
from conjoin.store.port import IdHolder, KeyRows, ShardSnapshot, Standing
from conjoin.store.rows import MessageRow, SubscriptionRow

MOST_WAITING = 100
"""A key with so many subscriptions has a crowd."""
MOST_MESSAGES = 100
"""How many live messages of a key are loaded with it; a key with more of them is loaded further as needed."""
PAGE = 100
_ALL = 2**62
_IDS_AT_ONCE = 50
_WAITING: tuple[Standing, ...] = ("idle", "busy")
_BEYOND = "g"
"""Comes after every digit of a digest."""
_NAME, _LANE, _RANK = 32, 64, 80
"""How many characters of a place in the crowd are those of its name, of its lane, and all but the key."""


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
        """No subscription of the lane with this rank or a lower one is missing."""
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
        """The first subscriptions of each process for messages with this name, idle and busy."""
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
        """Busy ones, as far as it takes to know whether one of them would take it."""
        self.name(message.name)
        topic = self._loaded.space.topics.get(message.name)
        while topic is not None and not is_awaited(topic, message):
            if not self.more(self.lanes("busy", message.name)):
                return

    def near(self, name: str) -> None:
        """All that a near miss of a message with this name could be."""
        self.name(name)
        for kind in _WAITING:
            while self.more([lane for lane in self.lanes(kind, name) if lane.count < MOST]):
                pass
        if not self._has_others:
            self._has_others = True
            for kind in _WAITING:
                self._lanes_between(kind, "", _BEYOND, MOST_LANES + 1)

    def receivers_of(self, message: Message) -> None:
        """Those who have it: they show whether it is still on its way."""
        self.some(it.subscription.key for it in message.targets if isinstance(it, MessageCorrelated))

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


class LoadedSpaces(SpaceStore):
    """The key spaces of a run, by tenant and key."""

    def __init__(self, snapshot: ShardSnapshot, policy_of: PolicyOf, state: LoadedState) -> None:
        self.by_place: dict[Place, Loaded] = {}
        self.crowds: dict[Place, Crowd] = {}
        self.snapshot = snapshot
        self.policy_of = policy_of
        self._state = state

    def at(self, place: Place) -> KeySpace:
        return self.by_place[place].space

    def settle(self, touched: Mapping[Place, KeySpace]) -> None:
        """The run ends soon, and all of it goes."""

    def fetch(self, tenant_id: str, keys: Iterable[str]) -> None:
        """Those of many keys, unless they are here already."""
        by_place = self.by_place
        missing = [key for key in dict.fromkeys(keys) if (tenant_id, key) not in by_place]
        if not missing:
            return
        rows = self.snapshot.key_rows(tenant_id, missing, MOST_MESSAGES, MOST_WAITING)
        self._state.know(rows.instances)
        for place, loaded, crowd in load_spaces(self.snapshot, tenant_id, missing, rows, self.policy_of):
            by_place[place] = loaded
            if crowd is not None:
                self.crowds[place] = crowd
        if len(rows.messages) < MOST_MESSAGES:
            return
        counts = Counter(row.correlation_key for row in rows.messages)
        for row in rows.messages:
            if counts[row.correlation_key] == MOST_MESSAGES:
                by_place[tenant_id, row.correlation_key].oldest_up_to = row.key
        for key in (key for key, count in counts.items() if count == MOST_MESSAGES):
            # An answer releases them, however many are older.
            self.add_messages(by_place[tenant_id, key], self.snapshot.held_messages(tenant_id, key))

    def fetch_messages(self, rows: Iterable[MessageRow]) -> None:
        """Messages that were found in another way than by their key."""
        found = list(rows)
        for tenant_id in dict.fromkeys(row.tenant_id for row in found):
            self.fetch(tenant_id, (row.correlation_key for row in found if row.tenant_id == tenant_id))
        for row in found:
            self.add_messages(self.by_place[row.tenant_id, row.correlation_key], [row])

    def add_messages(self, loaded: Loaded, rows: Iterable[MessageRow]) -> None:
        add_messages(loaded, rows, self.policy_of)


def load_spaces(
    snapshot: ShardSnapshot, tenant_id: str, keys: Sequence[str], rows: KeyRows, policy_of: PolicyOf
) -> Iterator[tuple[Place, Loaded, Crowd | None]]:
    """`rows` as they were read with `MOST_WAITING`."""
    crowded = _crowded(rows.subscriptions)
    if crowded:
        found = [row for row in rows.subscriptions if row.correlation_key not in crowded]
        unordered = [key for key, is_in_order in crowded.items() if not is_in_order]
        found += snapshot.key_rows(tenant_id, unordered, 0, _ALL).subscriptions if unordered else []
        rows = rows._replace(subscriptions=found)
    # A message that a subscription is about to take is needed, however many older ones there are.
    busy = {row.busy_with for row in rows.subscriptions if row.busy_with}
    missing = sorted(busy.difference(row.key for row in rows.messages)) if busy else []
    if missing:
        rows = rows._replace(messages=[*rows.messages, *snapshot.messages(missing)])
    for key, loaded in read_spaces(tenant_id, keys, rows, policy_of).items():
        yield (tenant_id, key), loaded, Crowd(snapshot, loaded, policy_of) if crowded.get(key) else None


def _crowded(rows: Sequence[SubscriptionRow]) -> dict[str, bool]:
    """The keys with a crowd, each with whether it is in order."""
    if len(rows) < MOST_WAITING:
        return {}
    counts = Counter(row.correlation_key for row in rows)
    found = {key: True for key, count in counts.items() if count >= MOST_WAITING}
    for row in rows:
        if not row.crowd and row.correlation_key in found:
            found[row.correlation_key] = False
    return found


class StoredIds:
    """Who holds a business id, and which stored messages bring one.

    The store is as it was before the run. An instance that has ended in the run holds nothing any more, and a message
    is the record that the run works with, so that what happened to it lately is seen.
    """

    def __init__(self, state: LoadedState, spaces: LoadedSpaces) -> None:
        self._state = state
        self._spaces = spaces

    def holders(self, tenant_id: str, business_ids: Sequence[str]) -> Iterator[IdHolder]:
        live, alive = self._state.live, self._state.elements
        for found in self._spaces.snapshot.id_holders(tenant_id, business_ids):
            if found.instance_key not in live or found.instance_key in alive:
                yield found

    def stored(self, tenant_id: str, business_id: str) -> Iterator[Stored]:
        spaces, after = self._spaces, 0
        while True:
            rows = spaces.snapshot.messages_with_business_id(tenant_id, business_id, after, _IDS_AT_ONCE)
            spaces.fetch(tenant_id, [row.correlation_key for row in rows])
            spaces.fetch_messages(rows)
            for row in rows:
                yield row.correlation_key, spaces.by_place[tenant_id, row.correlation_key].messages[row.key]
            if len(rows) < _IDS_AT_ONCE:
                return
            after = rows[-1].key
