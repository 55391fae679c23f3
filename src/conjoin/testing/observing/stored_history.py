"""What a store knows: the history of its instances from its log, its messages and what is open from its tables."""

from collections.abc import Iterator
from typing import Any

from conjoin.kernel.correlation import Message
from conjoin.kernel.keys import rank_of
from conjoin.kernel.process.rules.jobs import FOR_A_PERSON
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.messages import read_message
from conjoin.runtime.run.log import Entry, read_block
from conjoin.store import tables as t
from conjoin.store.tables import Table
from conjoin.testing.observing.history import Instances, InstanceStory, MessageHistory
from conjoin.testing.observing.open_now import ListedSubscription, OpenIncident, OpenJob

_PAGE = 1_000


class StoredHistory:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._read_up_to: dict[int, int] = {}
        self._instances = Instances()
        self._published: dict[int, bool] = {}

    @property
    def now(self) -> int:
        return self._broker.now

    @property
    def instances(self) -> dict[int, InstanceStory]:
        """As far as the log goes now."""
        definitions = self._broker.catalog.view().definitions
        for entry in self._new_entries():
            for event in entry.events:
                if event.kind == "MessagePublished":
                    self._published[event.message] = isinstance(entry.request, NewMessage) and entry.request.sync
                else:
                    self._instances.note(event.kind, event, definitions)
        return self._instances.instances

    def _new_entries(self) -> Iterator[Entry]:
        for index in range(self._broker.store.facts.shards):
            for row in self._broker.store.shard(index).log(self._read_up_to.get(index, 0)):
                self._read_up_to[index] = row.version
                yield from read_block(row.block)

    @property
    def messages(self) -> list[MessageHistory]:
        """Those that were published, in their order: over all shards by the counter in their keys."""
        assert self.instances is not None
        found = []
        for row in self._rows(t.MESSAGE):
            if row.key in self._published:
                policy = self._broker.catalog.view().policy_of(row.name, row.policy_version)
                message: Message = read_message(row, policy, {})[0]
                found.append(MessageHistory(message, row.correlation_key, row.tenant_id, self._published[row.key]))
        return sorted(found, key=lambda it: rank_of(it.message.key))

    def open_subscriptions(self) -> list[ListedSubscription]:
        return [
            ListedSubscription(row.instance_key, row.element_id, row.name, row.correlation_key)
            for row in self._rows(t.SUBSCRIPTION)
            if row.closed_at is None
        ]

    def open_jobs(self) -> list[OpenJob]:
        return [
            OpenJob(row.instance_key, row.element_id, row.type, row.key)
            for row in self._rows(t.JOB)
            if row.state != "error_thrown" and row.type != FOR_A_PERSON
        ]

    def open_incidents(self) -> list[OpenIncident]:
        found = [
            OpenIncident(row.key, row.instance_key, row.element_id, row.error_type, row.text)
            for row in self._rows(t.INCIDENT)
        ]
        return sorted(found)

    def _rows(self, table: Table) -> Iterator[Any]:
        after = None
        while True:
            rows = list(self._broker.store.rows(table, {}, after, _PAGE))
            yield from rows
            if len(rows) < _PAGE:
                return
            after = tuple(getattr(rows[-1], column) for column in table.key)
