"""The records that correlation is about: a message, and the subscription of a waiting element.

Both have slots because one of each is made for every row and request. Only `apply` writes to them
after they were made. `payload` is opaque to the rules: variables, or a row number where a table is correlated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from conjoin.kernel.instants import NEVER, after
from conjoin.kernel.keys import InstanceId, SubscriptionKey
from conjoin.kernel.policies import Policy

if TYPE_CHECKING:
    from conjoin.kernel.correlation.events import CorrelationGivenBack, MessageEnd, Target


@final
@dataclass(slots=True, eq=False, repr=False)
class Message:
    """What was published. `key` is its place in the order of its correlation key."""

    key: int
    name: str
    published_at: int
    deadline: int
    policy: Policy
    message_id: str = ""
    business_id: str = ""
    payload: Any = None
    sync: bool = field(default=False, init=False)
    subscriptions_only: bool = field(default=False, init=False)
    taken_before: int = field(default=0, init=False)
    stored: bool = field(default=False, init=False)
    marks: "tuple[str, ...] | dict[str, None]" = field(default=(), init=False)
    targets: "Sequence[Target]" = field(default=(), init=False)
    ended: "MessageEnd | None" = field(default=None, init=False)
    given_back: "CorrelationGivenBack | None" = field(default=None, init=False)
    late_subscription: "Subscription | None" = field(default=None, init=False)

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
@dataclass(slots=True, eq=False, repr=False)
class Subscription:
    """A waiting element. `rank` orders the subscriptions of one correlation key; `key` names it."""

    key: SubscriptionKey
    rank: int
    name: str
    process_id: str
    instance_id: InstanceId
    element_id: str | None
    opened_at: int
    interrupting: bool = True
    business_id: str = ""
    payload: Any = None
    busy_with: Message | None = field(default=None, init=False)
    closed: bool = field(default=False, init=False)

    def __repr__(self) -> str:
        return f"Subscription({self.key!r}, {self.name!r}, {self.process_id!r}, at={self.opened_at})"
