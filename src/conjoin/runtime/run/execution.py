"""The execution of a run: messages and orders are carried out on the working set, each with all that follows from it.

It notes how each request was written, where the keys stood and where its orders begin in the journal, for the log, and
how far what goes to other shards may go on from there. The parts of a run (`fold.py`, the inbox, what is set aside) all
work through it, and it knows none of them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.process import commands as c
from conjoin.runtime.client_api.messages import NewMessage, accepted
from conjoin.runtime.codec.orders import written_order
from conjoin.runtime.engine.stored_catalog import CatalogView, inbox_version
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.run import travels
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.travels import FEWEST_STEPS, shares, written_mail
from conjoin.runtime.run.working_set.working_set import WorkingSet
from conjoin.store.rows import DeadLetterRow, OutboxRow


class RequestMark(NamedTuple):
    """Of a request: how it is written in the log, the next key before it, and where its orders begin in the journal."""

    written: list[Any]
    next_key: int
    begin: int


class Execution:
    def __init__(self, its: WorkingSet, view: CatalogView, now: int) -> None:
        self.its = its
        self.view = view
        self.now = now
        self.marks: list[RequestMark] = []
        self.dead_letters: list[DeadLetterRow] = []
        self._left = travels.MOST
        """How far what is carried out now may still go."""
        self._shares: list[int] = []
        """The same for each order in the outbox."""

    def allow(self, left: int) -> None:
        """What is carried out from here on may go so far."""
        self._left = left
        self.its.most_steps = max(left, FEWEST_STEPS)

    def order(self, order: Any, written: list[Any], next_key: int = 0) -> Sequence[Any]:
        """Carry it out with all that follows; the answer is what was decided of the order itself."""
        its = self.its
        begin = len(its.journal)
        self.marks.append(RequestMark(written, next_key or its.keys.next, begin))
        decided: Sequence[Any] = its.carry_out(order)
        its.drain()
        if len(its.outbox) > len(self._shares):
            self._note_sent(len(its.journal) - begin)
        return decided

    def publish(self, new: NewMessage) -> Reply:
        its = self.its
        policies = self.view.inbox_policies if new.from_inbox else its.catalog.policies
        message = accepted(new, its.keys.take(), self.now, policies)
        if new.from_inbox:
            its.spaces.fetch(new.tenant_id, [new.key])
            its.spaces.by_place[new.tenant_id, new.key].versions[message.key] = inbox_version(self.view.version)
        kind = correlation.CorrelateMessage if new.sync else correlation.PublishMessage
        order = c.ForKey(new.tenant_id, new.key, kind(message, self.now))
        return Reply(self.order(order, written_order(new), message.key), message.key, awaits_answer=new.sync)

    def broadcast(self, signal: c.BroadcastSignal) -> Reply:
        """It concerns every shard, so it goes the way of the orders that one shard gives to others."""
        its = self.its
        self.marks.append(RequestMark(written_order(signal), its.keys.next, len(its.journal)))
        its.shard.hand_on(signal)
        its.drain()
        self._note_sent(0)
        return Reply()

    def keep_dead_letter(self, letter: DeadLetter) -> Reply:
        """Nothing is decided of it: it is kept, with a key of its own."""
        key = self.its.keys.take()
        self.dead_letters.append(DeadLetterRow(key, *letter, self.now))
        return Reply(key=key)

    def outbox_rows(self, sent: int) -> list[OutboxRow]:
        """What goes to other shards; so many went before."""
        counter = self.its.keys.counter
        return [
            OutboxRow(sent + number, receiver, counter, written_mail(order, left))
            for number, ((receiver, order), left) in enumerate(zip(self.its.outbox, self._shares, strict=True), 1)
        ]

    def _note_sent(self, steps: int) -> None:
        fresh = [order for _, order in self.its.outbox[len(self._shares) :]]
        self._shares += shares(self._left, fresh, self.its.shard_count, steps)


def stamp(order: Any, now: int) -> None:
    """The time of a command is that of the shard that carries it out."""
    if type(order) is c.ForKey:
        order.command.at = now
    else:
        order.at = now
