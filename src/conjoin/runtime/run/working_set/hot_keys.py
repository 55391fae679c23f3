"""Hot keys: of a key with very many live messages only the oldest are loaded. This fetches what a command needs beyond.

Deciding changes nothing, so it is simply asked again with more messages until the answer cannot change any more: what
was chosen is no younger than the last message loaded, or there are no more.
"""

from collections.abc import Sequence
from typing import Any

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.runtime.codec.key_spaces import Loaded
from conjoin.runtime.run.working_set.crowded_keys import tried
from conjoin.runtime.run.working_set.loaded_spaces import LoadedSpaces

_AT_ONCE = 1_000


def fetch_more(spaces: LoadedSpaces, loaded: Loaded, command: Any, catalog: Catalog) -> None:
    space = loaded.space
    kind = type(command)
    if kind is correlation.PublishMessage:
        message = command.message
        if message.message_id:
            found = spaces.snapshot.messages_with_id(space.tenant_id, space.key, message.name, message.message_id)
            spaces.add_messages(loaded, found)
    elif kind is correlation.OpenSubscription:
        _until_decided(spaces, loaded, command, catalog, [command.subscription.name])
    elif kind is correlation.AcknowledgeCorrelation:
        subscription = space.subscriptions.get(command.subscription_key)
        if subscription is not None and not subscription.interrupting:
            _until_decided(spaces, loaded, command, catalog, [subscription.name])
    elif kind is correlation.EndInstance:
        starts = catalog.starts_of(space.tenant_id, command.process_id, command.at)
        _until_decided(spaces, loaded, command, catalog, [start.name for start in starts])


def _until_decided(spaces: LoadedSpaces, loaded: Loaded, command: Any, catalog: Catalog, names: Sequence[str]) -> None:
    space, snapshot = loaded.space, spaces.snapshot
    while True:
        chosen = _chosen(catalog, loaded, command)
        short = [name for name in names if (reached := loaded.reached_of(name)) is not None and chosen > reached]
        for name in short:
            rows = snapshot.live_messages(space.tenant_id, space.key, name, loaded.reached_of(name) or 0, _AT_ONCE)
            spaces.add_messages(loaded, rows)
            loaded.reached[name] = rows[-1].key if len(rows) == _AT_ONCE else None
        if not short:
            return


def _chosen(catalog: Catalog, loaded: Loaded, command: Any) -> float:
    """The key of the message that the command would take; beyond all keys when it finds none."""
    decided = tried(catalog, loaded.space, command)
    taken = [event.message.key for event in decided if isinstance(event, (e.MessageCorrelated, e.InstanceStarted))]
    return min(taken, default=float("inf"))
