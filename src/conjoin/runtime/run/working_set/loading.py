"""Loading key spaces: what was read of some keys becomes their state.

Of a key with very many who wait nobody is in that state yet: its `Crowd` reads those whom a command concerns. Where a
crowd is not in order (a store of an earlier version), all of it is read, and the commit puts it in order.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from conjoin.runtime.codec.key_spaces import Loaded, PolicyOf, read_spaces
from conjoin.runtime.engine.key_spaces import Place
from conjoin.runtime.run.working_set import crowds
from conjoin.store.port import KeyRows, ShardSnapshot
from conjoin.store.rows import SubscriptionRow

_ALL = 2**62


def load_spaces(
    snapshot: ShardSnapshot, tenant_id: str, keys: Sequence[str], rows: KeyRows, policy_of: PolicyOf
) -> Iterator[tuple[Place, Loaded]]:
    """`rows` as they were read with `MOST_WAITING`."""
    crowded = _crowded(rows.subscriptions)
    if crowded:
        rows = rows._replace(subscriptions=_without_crowds(snapshot, tenant_id, rows.subscriptions, crowded))
    rows = _with_those_on_their_way(snapshot, rows)
    for key, loaded in read_spaces(tenant_id, list(keys), rows, policy_of).items():
        if crowded.get(key):
            loaded.crowd = crowds.Crowd(snapshot, loaded, policy_of)
        yield (tenant_id, key), loaded


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
