"""Loaded key spaces: what one run has read of some correlation keys, as the state that the rules look at.

Of a key with very many who wait nobody is in that state yet: its `Crowd` reads those whom a command concerns. Where a
crowd is not in order (a store of an earlier version), all of it is read, and the commit puts it in order. Of a key
with very many live messages only the oldest are here, and those that somebody holds (`hot_keys.py`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from conjoin.kernel.correlation import KeySpace
from conjoin.runtime.codec.key_spaces import Loaded, PolicyOf, add_messages, read_spaces
from conjoin.runtime.engine.key_spaces import Place, SpaceStore
from conjoin.runtime.run.working_set import crowds
from conjoin.runtime.run.working_set.crowds import Crowd
from conjoin.store.port import KeyRows, ShardSnapshot
from conjoin.store.rows import MessageRow, SubscriptionRow

MOST_MESSAGES = 100
"""So many live messages of a key are loaded with it; a key with more of them is loaded further as it is needed."""
_ALL = 2**62


class LoadedSpaces(SpaceStore):
    """The key spaces of a run, by tenant and key."""

    def __init__(self, snapshot: ShardSnapshot, policy_of: PolicyOf) -> None:
        self.by_place: dict[Place, Loaded] = {}
        self.crowds: dict[Place, Crowd] = {}
        self.snapshot = snapshot
        self.policy_of = policy_of

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
        rows = self.snapshot.key_rows(tenant_id, missing, MOST_MESSAGES, crowds.MOST_WAITING)
        for place, loaded, crowd in load_spaces(self.snapshot, tenant_id, missing, rows, self.policy_of):
            by_place[place] = loaded
            if crowd is not None:
                self.crowds[place] = crowd
        self._note_hot_keys(tenant_id, rows)

    def fetch_messages(self, rows: Iterable[MessageRow]) -> None:
        """Messages that were found in another way than by their key."""
        found = list(rows)
        for tenant_id in dict.fromkeys(row.tenant_id for row in found):
            self.fetch(tenant_id, (row.correlation_key for row in found if row.tenant_id == tenant_id))
        for row in found:
            self.add_messages(self.by_place[row.tenant_id, row.correlation_key], [row])

    def add_messages(self, loaded: Loaded, rows: Iterable[MessageRow]) -> None:
        add_messages(loaded, rows, self.policy_of)

    def _note_hot_keys(self, tenant_id: str, rows: KeyRows) -> None:
        if len(rows.messages) < MOST_MESSAGES:
            return
        keys = Counter(row.correlation_key for row in rows.messages)
        for row in rows.messages:
            if keys[row.correlation_key] == MOST_MESSAGES:
                self.by_place[tenant_id, row.correlation_key].oldest_up_to = row.key
        for key in (key for key, count in keys.items() if count == MOST_MESSAGES):
            # Whoever answers lets them go, however many are older.
            self.add_messages(self.by_place[tenant_id, key], self.snapshot.held_messages(tenant_id, key))


def load_spaces(
    snapshot: ShardSnapshot, tenant_id: str, keys: Sequence[str], rows: KeyRows, policy_of: PolicyOf
) -> Iterator[tuple[Place, Loaded, Crowd | None]]:
    """`rows` as they were read with `MOST_WAITING`."""
    crowded = _crowded(rows.subscriptions)
    if crowded:
        rows = rows._replace(subscriptions=_without_crowds(snapshot, tenant_id, rows.subscriptions, crowded))
    rows = _with_those_on_their_way(snapshot, rows)
    for key, loaded in read_spaces(tenant_id, list(keys), rows, policy_of).items():
        yield (tenant_id, key), loaded, Crowd(snapshot, loaded, policy_of) if crowded.get(key) else None


def _crowded(rows: Sequence[SubscriptionRow]) -> dict[str, bool]:
    """The keys with a crowd, each with whether it is in order."""
    if len(rows) < crowds.MOST_WAITING:
        return {}
    counts = Counter(row.correlation_key for row in rows)
    found = {key: True for key, count in counts.items() if count >= crowds.MOST_WAITING}
    for row in rows:
        if not row.crowd and row.correlation_key in found:
            found[row.correlation_key] = False
    return found


def _without_crowds(
    snapshot: ShardSnapshot, tenant_id: str, rows: Sequence[SubscriptionRow], crowded: dict[str, bool]
) -> list[SubscriptionRow]:
    found = [row for row in rows if row.correlation_key not in crowded]
    unordered = [key for key, is_in_order in crowded.items() if not is_in_order]
    return [*found, *snapshot.key_rows(tenant_id, unordered, 0, _ALL).subscriptions] if unordered else found


def _with_those_on_their_way(snapshot: ShardSnapshot, rows: KeyRows) -> KeyRows:
    """A message that somebody is about to take is needed, however many older ones there are."""
    busy = {row.busy_with for row in rows.subscriptions if row.busy_with}
    missing = sorted(busy.difference(row.key for row in rows.messages)) if busy else []
    return rows._replace(messages=[*rows.messages, *snapshot.messages(missing)]) if missing else rows
