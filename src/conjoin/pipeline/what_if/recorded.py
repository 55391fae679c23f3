"""Recorded commands: what the correlation half of one shard carried out, in order, read off the shard's log.

The log holds what came from outside and from other shards; what follows from that inside a shard is found by carrying
the log out again (`ReplayedShard`). Nothing is decided or compared here, and nothing is written anywhere.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from conjoin.errors import InputError
from conjoin.kernel.correlation import Subscription
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation.events import InstanceStarted
from conjoin.kernel.coupling import Order
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.kernel.process import work_events as w
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.stored_catalog import CatalogVersions
from conjoin.runtime.replay.shard import ReplayedShard
from conjoin.runtime.run.log import Entry, read_block

PUBLISH, OFFER, OPEN, CLOSE = "publish", "offer", "open", "close"
ACKNOWLEDGE, REJECT, END = "acknowledge", "reject", "end"
CHILD, STUCK = "child", "stuck"
"""No commands, but what else has to be known: who was called by whom, and who has had an incident."""

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class Recorded(NamedTuple):
    """A command for one correlation key. `number` is its place among those of its shard.

    `body` is JSON: what the command is about, and last the instances that were started by it, by process.
    """

    tenant_id: str
    key: str
    shard: int
    number: int
    at: int
    catalog_version: int
    kind: str
    body: str


def recorded_commands(broker: Broker, shard: int, until: int) -> Iterator[Recorded]:
    """All commands of a shard up to an instant, from the beginning of its log."""
    with broker.store.frozen() as frozen:
        catalog = CatalogVersions(frozen, broker.store.facts.profile)
    recorder = Recorder(broker, shard)
    reached, known = 0, -1
    for row in broker.store.shard(shard).log():
        if row.version != reached + 1:
            raise InputError([_removed(shard, row.version)])
        reached = row.version
        if row.at > until:
            return
        if row.catalog_version != known:
            recorder.learn(catalog.at(row.catalog_version))
            known = row.catalog_version
        for entry in read_block(row.block):
            yield from recorder.take(entry, row.catalog_version)
        recorder.end_commit(row.at, row.catalog_version)


def first_version(broker: Broker, shard: int) -> int:
    """Where the log of a shard begins; 1 unless its head was removed, or there is none."""
    return next((row.version for row in broker.store.shard(shard).log(0, 1)), 1)


def check_whole(broker: Broker) -> None:
    firsts = {shard: first_version(broker, shard) for shard in range(broker.shard_count)}
    problems = [_removed(shard, first) for shard, first in firsts.items() if first > 1]
    if problems:
        raise InputError(problems)


def _removed(shard: int, version: int) -> str:
    return (
        f"the log of shard {shard} begins at version {version}: what came before was removed (conjoin store compact,"
        " log retention or reshard), so what was open, kept and locked then is not known, and nothing can be replayed"
    )


class Recorder(ReplayedShard):
    """A shard that notes every command of its correlation half while it carries out a log."""

    def __init__(self, broker: Broker, shard: int) -> None:
        super().__init__(shard, broker.store.facts, broker.homes)
        self._requested: dict[int, NewMessage] = {}
        self._roots: dict[int, tuple[int, str]] = {}
        self._rows: list[Recorded] = []
        self._opened: dict[int, int] = {}
        self._count = 0
        self._catalog_version = 0
        self._from_elsewhere = False

    def take(self, entry: Entry, catalog_version: int) -> list[Recorded]:
        """Carry out an entry; the answer is what correlation did meanwhile."""
        self._rows, self._opened = [], {}
        self._catalog_version = catalog_version
        self._from_elsewhere = type(entry.request) is c.ForKey
        self.replay(entry)
        return self._rows

    def _order_of(self, request: Any, at: int) -> Order:
        order = super()._order_of(request, at)
        if type(request) is NewMessage:
            self._requested[order.command.message.key] = request  # type: ignore[union-attr]
        return order

    def carry_out(self, command: Order) -> Any:
        decided: Sequence[Any] = super().carry_out(command)
        if type(command) is c.ForKey:
            self._note(command, decided)
        else:
            self._note_instances(command.at, decided)  # type: ignore[union-attr]
        # What follows was sent by an instance that lives here.
        self._from_elsewhere = False
        return decided

    def _note(self, order: c.ForKey, decided: Sequence[Any]) -> None:
        recorded = self._recorded(order.command)
        if recorded is not None:
            started = {it.process_id: it.instance_id for it in decided if type(it) is InstanceStarted}
            kind, *body = recorded
            self._add(order.tenant_id, order.key, order.command.at, kind, [*body, started])

    def _add(self, tenant_id: str, key: str, at: int, kind: str, body: list[Any]) -> None:
        self._count += 1
        text = encode(body).decode()
        self._rows.append(Recorded(tenant_id, key, self.index, self._count, at, self._catalog_version, kind, text))

    def _recorded(self, command: Any) -> tuple[Any, ...] | None:
        kind = type(command)
        if kind is correlation.PublishMessage or kind is correlation.CorrelateMessage:
            return self._recorded_message(command.message.key)
        if kind is correlation.OpenSubscription:
            self._opened[command.subscription.key] = len(self._rows)
            it: Subscription = command.subscription
            who = (it.key, it.rank, it.name, it.process_id, it.instance_id, it.element_id)
            return (OPEN, *who, it.opened_at, it.interrupting, it.business_id, self._from_elsewhere, False)
        if kind is correlation.CloseSubscription:
            self._closed(command.subscription_key)
            return CLOSE, command.subscription_key
        if kind is correlation.AcknowledgeCorrelation:
            return ACKNOWLEDGE, command.subscription_key, command.message_key
        if kind is correlation.RejectCorrelation:
            return REJECT, command.subscription.key, command.message.key, command.why
        if kind is correlation.EndInstance:
            return END, command.process_id, command.instance_id
        # A message leaves the buffer at its deadline, whenever it was swept.
        return None

    def _recorded_message(self, key: int) -> tuple[Any, ...]:
        it = self._requested.pop(key, None)
        if it is None:
            return OFFER, key
        times, ids = (it.ttl_ms, it.published_at), (it.message_id, it.business_id)
        return (PUBLISH, key, it.name, *times, *ids, it.sync, it.from_inbox, it.subscriptions_only)

    def _closed(self, key: int) -> None:
        """It was open for so short that what it might have been given would have found nobody: say so."""
        index = self._opened.get(key)
        if index is not None:
            body = decode(self._rows[index].body)
            body[-2] = True
            self._rows[index] = self._rows[index]._replace(body=encode(body).decode())

    def _note_instances(self, at: int, decided: Sequence[Any]) -> None:
        for event in decided:
            kind = type(event)
            if kind is pe.InstanceCreated and event.parent_key:
                caller = self.state.elements[event.parent_key].instance
                root = self._roots.get(caller.key, (caller.key, caller.definition.process_id))
                self._roots[event.key] = root
                self._add(event.tenant_id, "", at, CHILD, [event.key, *root])
            elif kind is w.IncidentRaised and event.element_key in self.state.elements:
                instance = self.state.elements[event.element_key].instance
                root_key, _ = self._roots.get(instance.key, (instance.key, ""))
                self._add(instance.tenant_id, "", at, STUCK, [root_key])
