"""A story told to the kernel: one line an order, and short sentences of what was decided.

Nothing is acknowledged by itself, so a story can look at the middle of a correlation. Times and time to live are
small numbers of milliseconds. Every order answers with lines such as `published m1`, `m1 -> s1`, `m1 starts order`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation import KeySpace, Message, Subscription, decide
from conjoin.kernel.correlation import commands as c
from conjoin.kernel.correlation import events as e
from conjoin.kernel.instants import ALWAYS, NEVER, after
from conjoin.kernel.policies import read_policies
from conjoin.kernel.verdicts.verdicts import parameters, verdict_of

TENANT = "<default>"
MS = 1_000
FOREVER_MS = 2**63 - 1
"""The largest time to live that the wire can carry."""


def start(
    process: str, name: str = "paid", *, since: int | None = None, until: int | None = None, tenant: str = TENANT
) -> StartSubscription:
    """A message start event, in force from one millisecond until another."""
    from_at = ALWAYS if since is None else since * MS
    until_at = NEVER if until is None else until * MS
    return StartSubscription(process, name, tenant, "begin", from_at, until_at)


class Story:
    """Orders in, sentences out. `policy` holds for all names, `by_name` for single ones."""

    def __init__(
        self,
        *,
        profile: str = "zeebe",
        policy: Mapping[str, object] | None = None,
        by_name: Mapping[str, Mapping[str, object]] | None = None,
        starts: Iterable[StartSubscription] = (),
        key: str = "k",
    ) -> None:
        self.profile = profile
        self.starts = list(starts)
        self.key = key
        self.now = 0
        self.spaces: dict[tuple[str, str], KeySpace] = {}
        self.messages: dict[str, Message] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.place_of: dict[str, tuple[str, str]] = {}
        self.events: list[e.Event] = []
        self.change_policies({"*": policy or {}, **(by_name or {})})

    def change_policies(self, changes: Mapping[str, Mapping[str, object]]) -> None:
        self.policies, problems = read_policies(self.profile, changes)
        assert problems == []
        self._write_catalog()

    def deploy(self, *starts: StartSubscription) -> None:
        self.starts += starts
        self._write_catalog()

    def _write_catalog(self) -> None:
        self.catalog = Catalog(self.starts, self.policies, self._new_instance)

    def _new_instance(self, tenant: str, key: str, message: Message, start: StartSubscription) -> str:
        return f"{start.process_id}/{self.label(message)}"

    def label(self, message: Message) -> str:
        return next(label for label, known in self.messages.items() if known is message)

    def space(self, label: str = "") -> KeySpace:
        """The state of the key on which a message or a subscription is; without a label the story's own key."""
        place = self.place_of.get(label, (TENANT, self.key))
        return self.spaces.setdefault(place, KeySpace(*place))

    def publish(self, label: str, at: int | None = None, **about: Any) -> list[str]:
        message = self._message(label, at, **about)
        return self.do(self.space(label), c.PublishMessage(message, self._at(at)))

    def correlate(
        self, label: str, at: int | None = None, *, subscriptions_only: bool = False, **about: Any
    ) -> list[str]:
        """Synchronous: it names no time to live and no id (O15)."""
        message = self._message(label, at, **about)
        message.sync, message.subscriptions_only = True, subscriptions_only
        return self.do(self.space(label), c.CorrelateMessage(message, self._at(at)))

    def offer_again(self, label: str, at: int | None = None) -> list[str]:
        """What a runner does with a message that was released: a command of its own."""
        message = self.messages[label]
        order = c.CorrelateMessage if message.sync else c.PublishMessage
        return self.do(self.space(label), order(message, self._at(at)))

    def _message(
        self,
        label: str,
        at: int | None,
        *,
        name: str = "paid",
        key: str | None = None,
        tenant: str = TENANT,
        ttl: int | None = None,
        id: str = "",
        business: str = "",
        variables: Any = None,
    ) -> Message:
        published_at = self._at(at)
        policy = self.catalog.policies.of(name)
        ttl_ms = policy.time_to_live if ttl is None else ttl
        deadline = NEVER if ttl_ms is None else after(published_at, ttl_ms) if ttl_ms > 0 else published_at
        number = len(self.messages) + 1
        message = Message(number, name, published_at, deadline, policy, id, business, variables)
        self.messages[label] = message
        self.place_of[label] = (tenant, self.key if key is None else key)
        return message

    def open(
        self,
        label: str,
        process: str = "order",
        at: int | None = None,
        *,
        name: str = "paid",
        key: str | None = None,
        tenant: str = TENANT,
        instance: str | None = None,
        rank: int | None = None,
        interrupting: bool = True,
        business: str = "",
    ) -> list[str]:
        opened_at = self._at(at)
        rank = len(self.subscriptions) if rank is None else rank
        instance = instance or f"i-{label}"
        subscription = Subscription(
            label, rank, name, process, instance, "catch", opened_at, interrupting=interrupting, business_id=business
        )
        self.place_of[label] = (tenant, self.key if key is None else key)
        lines = self.do(self.space(label), c.OpenSubscription(subscription, opened_at))
        if lines[0] == f"opened {label}":
            self.subscriptions[label] = subscription
        return lines

    def close(self, label: str, at: int | None = None) -> list[str]:
        return self.do(self.space(label), c.CloseSubscription(label, self._at(at)))

    def acknowledge(self, label: str, at: int | None = None, *, message: str | None = None) -> list[str]:
        """The instance took what is on its way to the subscription, or the message that is named."""
        taken = self.messages[message] if message else self.subscriptions[label].busy_with
        key = taken.key if taken else None
        return self.do(self.space(label), c.AcknowledgeCorrelation(label, key, self._at(at)))

    def reject(
        self, label: str, at: int | None = None, *, message: str | None = None, why: str = "scope left"
    ) -> list[str]:
        subscription = self.subscriptions[label]
        given_back = self.messages[message] if message else subscription.busy_with
        assert given_back is not None, f"nothing is on its way to {label}"
        return self.do(self.space(label), c.RejectCorrelation(subscription, given_back, self._at(at), why))

    def end(
        self, process: str, at: int | None = None, *, instance: str | None = None, tenant: str = TENANT
    ) -> list[str]:
        space = self.spaces.setdefault((tenant, self.key), KeySpace(tenant, self.key))
        return self.do(space, c.EndInstance(process, instance, self._at(at)))

    def expire(self, at: int, limit: int | None = None) -> list[str]:
        order = c.ExpireMessages(self._at(at)) if limit is None else c.ExpireMessages(self._at(at), limit)
        return [line for space in list(self.spaces.values()) for line in self.do(space, order)]

    def do(self, space: KeySpace, command: c.Command) -> list[str]:
        decided = decide(space, command, self.catalog)
        for event in decided:
            event.apply(space)
        self.events += decided
        return [self.tell(event) for event in decided]

    def tell(self, event: Any) -> str:
        """One event in a few words."""
        message = self.label(event.message) if hasattr(event, "message") else ""
        subscription = event.subscription.key if hasattr(event, "subscription") else ""
        match event:
            case e.MessagePublished():
                return f"published {message}"
            case e.MessageCorrelated():
                return f"{message} -> {subscription}"
            case e.InstanceStarted():
                return f"{message} starts {event.process_id}"
            case e.MessageRefused():
                return f"refused {message}: {event.reason}"
            case e.MessageDiscarded():
                return f"discarded {message}: {event.reason}"
            case e.MessageExpired():
                return f"expired {message}: {event.reason}" if event.reason else f"expired {message}"
            case e.MessageHeld():
                return f"held {message}"
            case e.MessageReleased():
                return f"released {message}"
            case e.MessageAnswered():
                return f"answered {message}: {event.instance_id}"
            case e.SubscriptionOpened():
                return f"opened {subscription}"
            case e.SubscriptionClosed():
                return f"closed {subscription}"
            case e.SubscriptionRefused():
                return f"not opened {subscription}: {event.why} {event.holder.key}"
            case e.CorrelationAcknowledged():
                return f"{subscription} took {message}"
            case e.CorrelationGivenBack():
                return f"{subscription} gave back {message}: {event.why}"
            case e.LockFreed():
                return f"freed {event.process_id}"
            case e.OrderRefused():
                return f"refused: {event.code}"
        raise AssertionError(event)

    def takers(self, label: str) -> list[str]:
        """Who has the message: subscriptions by their label, started instances by process and message."""
        targets = self.messages[label].targets
        return [t.instance_id if isinstance(t, e.InstanceStarted) else t.subscription.key for t in targets]

    def waiting(self) -> list[str]:
        """The open subscriptions of all keys."""
        return sorted(label for space in self.spaces.values() for label in space.subscriptions)

    def stored(self) -> list[str]:
        return [label for label, message in self.messages.items() if message.stored]

    def holder(self, process: str, tenant: str = TENANT) -> str | None:
        """The instance that holds the lock of a process on the story's key."""
        space = self.spaces.get((tenant, self.key))
        lock = space.locks.get(process) if space else None
        return lock.instance_id if lock else None

    def verdict(self, label: str) -> str:
        """Verdict and reason, as of now."""
        verdict = verdict_of(self.space(label), self.messages[label], self.now * MS, self.catalog)
        return f"{verdict.verdict} {verdict.reason}"

    def decided_at(self, label: str) -> int:
        verdict = verdict_of(self.space(label), self.messages[label], self.now * MS, self.catalog)
        return verdict.decided_at // MS

    def parameters(self, label: str) -> dict[str, Any]:
        space, message, now = self.space(label), self.messages[label], self.now * MS
        verdict = verdict_of(space, message, now, self.catalog)
        others = tuple(other for other in self.spaces.values() if other.key == space.key)
        return parameters(space, message, verdict, now, self.catalog, others)

    def _at(self, at: int | None) -> int:
        if at is not None:
            assert at >= self.now, "time does not go back"
            self.now = at
        return self.now * MS
