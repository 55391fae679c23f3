"""One correlation key as the rules would see it now: loaded from the store to be looked at; nothing is written.

The loaded state is a copy. What has fallen due is applied to it, so that a verdict does not depend on when the last
sweep was. It is read through a connection of its own, from any thread, beside the run of the shard.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import KeySpace, Message, decide
from conjoin.kernel.correlation import commands as c
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.key_spaces import Loaded
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.run.working_set import loaded_spaces
from conjoin.runtime.run.working_set.loaded_spaces import Crowd, load_spaces
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import MessageRow

MOST_MESSAGES = 100
"""Of the live messages on the key, so many of the oldest are loaded beside those that are to be explained."""
PAGES_OF_CROWD = 10

Find = Callable[[ShardSnapshot], Sequence[MessageRow]]
"""Which messages are to be explained."""


@dataclass(slots=True)
class KeyView:
    space: KeySpace
    messages: dict[int, Message]
    catalog: Catalog
    deployed: CatalogView
    now: int
    ids: BusinessIds | None
    """Holders of the business ids of these messages, where an id may be held once."""


def load_key(broker: Broker, tenant_id: str, key: str, find: Find, unsent: NewMessage | None = None) -> KeyView:
    """`unsent`: a message that is to be explained, too, and is in no store."""
    deployed = broker.catalog.view()
    shard = broker.store.shard(shard_of(key, broker.store.facts.shards))
    with closing(shard.reader()) as reader, reader.begin() as snapshot:
        found = find(snapshot)
        rows = snapshot.key_rows(tenant_id, [key], MOST_MESSAGES, loaded_spaces.MOST_WAITING)
        messages = {row.key: row for row in (*rows.messages, *found)}
        rows = rows._replace(messages=[messages[number] for number in sorted(messages)])
        [(_, loaded, crowd)] = load_spaces(snapshot, tenant_id, [key], rows, deployed.policy_of)
        if crowd is not None:
            _look_into_crowd(crowd, loaded, [row.key for row in found], unsent)
        ids = BusinessIds() if broker.store.facts.unique_business_ids else None
        if ids is not None:
            wanted = {unsent.business_id if unsent else "", *(row.business_id for row in rows.messages)}
            for holder in snapshot.id_holders(tenant_id, sorted(wanted)):
                ids.hold(tenant_id, holder.process_id, holder.business_id, holder.instance_key)
        now = max(snapshot.head.time, broker.now)
    # An instance that is started only to see what would happen has no key.
    catalog = deployed.kernel_catalog(ids).asking(lambda *_: None)
    for event in decide(loaded.space, c.ExpireMessages(now), catalog):
        event.apply(loaded.space)
    return KeyView(loaded.space, loaded.messages, catalog, deployed, now, ids)


def _look_into_crowd(crowd: Crowd, loaded: Loaded, keys: Sequence[int], unsent: NewMessage | None) -> None:
    """Where very many wait, an explanation is about the first thousand of each process, and all that took it."""
    messages = [loaded.messages[key] for key in keys]
    names = {message.name for message in messages} | ({unsent.name} if unsent else set())
    for name in sorted(names):
        crowd.near(name)
        for _ in range(PAGES_OF_CROWD - 1):
            crowd.more(crowd.lanes("idle", name))
    for message in messages:
        crowd.receivers_of(message)
        crowd.until_awaited(message)
