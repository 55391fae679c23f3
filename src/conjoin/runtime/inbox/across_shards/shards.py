"""The shards of a broker, as the inbox asks them: each request is a commit, and what follows from it is delivered."""

import logging
from contextlib import AbstractContextManager
from dataclasses import replace

from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.requests import InboxReply, InboxRequest, InboxRun, InboxTurn
from conjoin.runtime.run.isolation import blamed
from conjoin.runtime.run.sweeping import is_items
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store.port import ShardSnapshot, Store

_log = logging.getLogger(__name__)


class Shards:
    def __init__(self, broker: Broker) -> None:
        self.count = broker.shard_count
        self.store: Store = broker.store
        self._broker = broker

    @property
    def now(self) -> int:
        return self._broker.now

    def ask(self, shard: int, request: InboxRequest) -> InboxReply:
        """A message whose attempt fails by a mistake of ours has failed; the others of the request are tried."""
        while True:
            try:
                reply: InboxReply = self._broker.carrier.ask(shard, request).inbox  # type: ignore[arg-type]
            except Exception as error:  # noqa: BLE001 - which message it was is found out
                request = without_failing(request, error)
            else:
                return reply

    def look(self, shard: int) -> AbstractContextManager[ShardSnapshot]:
        """A shard as it is, to be read only."""
        return self._broker.post.look(shard)


def without_failing(request: InboxRequest, error: Exception) -> InboxRequest:
    """The request with the failure booked of the message that it belongs to; raises if it is none's."""
    if not is_items(error) or not isinstance(request, (InboxRun, InboxTurn)):
        raise error
    key = blamed(error).key
    if key and key not in request.failing:
        _log.error("message %s of the inbox could not be tried: %s", key, text_of(error), exc_info=error)
        return replace(request, failing={**request.failing, key: text_of(error)})
    if key or isinstance(request, InboxTurn) or request.limit == 1:
        raise error
    # One at a time: then it is known whose failure it is.
    return replace(request, limit=1, settings=replace(request.settings, batch_size=1))
