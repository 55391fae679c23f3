"""Who waits on one correlation key at an instant, in a table: the target of the messages of its batch.

The rules are those of the correlation half, as every engine of ours has them. A message is offered as a synchronous
correlation: nobody, or several, is an error, and nothing is kept here, for the inbox is what keeps it. Who has taken a
message before, as long as the inbox knows of it, does not wait any more, whatever the table says.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.messages import Message, Subscription, deadline_of
from conjoin.kernel.correlation.publishing import publish
from conjoin.kernel.correlation.state import KeySpace
from conjoin.kernel.correlation.waiting import accept, open_subscription
from conjoin.kernel.inbox import InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Outcome, outcome_of_verdict
from conjoin.kernel.instants import NEVER
from conjoin.runtime.client_api.messages import refusal_of
from conjoin.runtime.inbox.on_shard.attempts import new_message


class AwaitingSubscription(NamedTuple):
    """A row of the table of who waits, as JSON has it."""

    subscription_id: str
    process_id: str
    name: str
    instance_id: str
    element_id: str | None
    opened_at: int
    closed_at: int | None
    interrupting: bool
    business_id: str


class Offered(NamedTuple):
    outcome: Outcome
    subscription_ids: list[str]


class WhoWaits:
    """Of one group, which is one correlation key of one tenant."""

    def __init__(self, catalog: Catalog, tenant_id: str, key: str, now: int) -> None:
        self._catalog = catalog
        self._now = now
        self._key = key
        self._space = KeySpace(tenant_id, key)
        self._count = 0

    def open(self, rows: Iterable[AwaitingSubscription], served: Collection[str]) -> None:
        """Those that are open now; of those that were `served` only what may take several messages."""
        for row in sorted(rows, key=lambda it: (it.opened_at, it.subscription_id)):
            is_over = row.closed_at is not None and row.closed_at <= self._now
            if is_over or row.opened_at > self._now or (row.interrupting and row.subscription_id in served):
                continue
            self._count += 1
            who = row.subscription_id, self._count, row.name, row.process_id, row.instance_id, row.element_id
            it = Subscription(*who, row.opened_at, row.interrupting, row.business_id)
            self._carry_out(open_subscription(self._space, it, row.opened_at, self._catalog))

    def offer(self, message: InboxMessage) -> Offered:
        policy = self._catalog.policies.of(message.hint.name)
        new = new_message(message, policy, self._now)
        if isinstance(new, Failed):
            return Offered(new, [])
        self._count += 1
        deadline = NEVER if new.ttl_ms is None else deadline_of(self._now, new.ttl_ms, policy)
        offered = Message(self._count, new.name, self._now, deadline, policy, new.message_id, new.business_id)
        offered.sync = True
        return self._told(self._carry_out(publish(self._space, offered, self._now, self._catalog)))

    def _carry_out(self, events: list[e.Event]) -> list[e.Event]:
        """The list grows while it is walked; whoever is given a message takes it at once."""
        for event in events:
            event.apply(self._space)
            if isinstance(event, e.MessageCorrelated):
                events += accept(self._space, event.subscription, event.message, event.at, self._catalog)
        return events

    def _told(self, events: list[e.Event]) -> Offered:
        taken = [str(event.subscription.key) for event in events if isinstance(event, e.MessageCorrelated)]
        for event in events:
            if isinstance(event, e.MessageRefused):
                text = refusal_of(event, self._key).text
                return Offered(outcome_of_verdict("refused", event.reason, text=text), [])
            if isinstance(event, e.MessageAnswered):
                reason, target = event.message.targets[0].reason, str(event.instance_id)
                return Offered(Delivered(reason=reason, target=target), taken)
        raise AssertionError("a synchronous correlation is answered or refused")
