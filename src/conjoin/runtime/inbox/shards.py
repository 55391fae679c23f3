"""The shards of a broker, as the inbox asks them: each request is a commit, and what follows from it is delivered."""

from contextlib import AbstractContextManager

from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.requests import InboxReply, InboxRequest
from conjoin.store.port import ShardSnapshot, Store


class Shards:
    def __init__(self, broker: Broker) -> None:
        self.count = broker.shard_count
        self.store: Store = broker.store
        self._broker = broker

    @property
    def now(self) -> int:
        return self._broker.now

    def ask(self, shard: int, request: InboxRequest) -> InboxReply:
        reply: InboxReply = self._broker.carrier.ask(shard, request).inbox  # type: ignore[arg-type]
        return reply

    def look(self, shard: int) -> AbstractContextManager[ShardSnapshot]:
        """A shard as it is, to be read only."""
        return self._broker.post.look(shard)
