"""The records that correlation is about: a message, and the subscription of a waiting element.

Both are plain slotted objects because one of each is made for every row and request. Only `apply` writes to them
after they were made. `payload` is opaque to the rules: variables, or a row number where a table is correlated.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

from conjoin.kernel.instants import NEVER, after
from conjoin.kernel.keys import InstanceId, SubscriptionKey
from conjoin.kernel.policies import Policy

if TYPE_CHECKING:
    from conjoin.kernel.correlation.events import CorrelationGivenBack, MessageEnd, Target


@final
class Message:
    """What was published. `key` is its place in the order of its correlation key."""

    __slots__ = (
        "business_id",
        "deadline",
        "ended",
        "given_back",
        "key",
        "late_subscription",
        "marks",
        "message_id",
        "name",
        "payload",
        "policy",
        "published_at",
        "stored",
        "subscriptions_only",
        "sync",
        "taken_before",
        "targets",
    )

    def __init__(
        self,
        key: int,
        name: str,
        published_at: int,
        deadline: int,
        policy: Policy,
        message_id: str = "",
        business_id: str = "",
        payload: Any = None,
    ) -> None:
        self.key = key
        self.name = name
        self.published_at = published_at
        self.deadline = deadline
        self.policy = policy
        self.message_id = message_id
        self.business_id = business_id
        self.payload = payload
        self.sync = False
        self.subscriptions_only = False
        self.taken_before = 0
        self.stored = False
        self.marks: tuple[str, ...] | dict[str, None] = ()
        self.targets: Sequence[Target] = ()
        self.ended: MessageEnd | None = None
        self.given_back: CorrelationGivenBack | None = None
        self.late_subscription: Subscription | None = None

    def __repr__(self) -> str:
        return f"Message({self.key!r}, {self.name!r}, at={self.published_at}, until={self.deadline})"


def deadline_of(published_at: int, ttl_ms: int | None, policy: Policy) -> int:
    """Until when it may be taken; its own time to live, or else that of the policy (A5, A9, A14)."""
    ttl = policy.time_to_live if ttl_ms is None else ttl_ms
    if ttl is None:
        return NEVER
    return after(published_at, ttl) if ttl > 0 else published_at


def is_kept(message: Message) -> bool:
    """Is it stored until its deadline (A5, D4, F8)?"""
    return message.deadline > message.published_at and message.policy.keeps and not message.sync


@final
class Subscription:
    """A waiting element. `rank` orders the subscriptions of one correlation key; `key` names it."""

    __slots__ = (
        "business_id",
        "busy_with",
        "closed",
        "element_id",
        "instance_id",
        "interrupting",
        "key",
        "name",
        "opened_at",
        "payload",
        "process_id",
        "rank",
    )

    def __init__(
        self,
        key: SubscriptionKey,
        rank: int,
        name: str,
        process_id: str,
        instance_id: InstanceId,
        element_id: str | None,
        opened_at: int,
        interrupting: bool = True,
        business_id: str = "",
        payload: Any = None,
    ) -> None:
        self.key = key
        self.rank = rank
        self.name = name
        self.process_id = process_id
        self.instance_id = instance_id
        self.element_id = element_id
        self.opened_at = opened_at
        self.interrupting = interrupting
        self.business_id = business_id
        self.payload = payload
        self.busy_with: Message | None = None
        self.closed = False

    def __repr__(self) -> str:
        return f"Subscription({self.key!r}, {self.name!r}, {self.process_id!r}, at={self.opened_at})"
