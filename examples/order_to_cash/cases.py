"""The plan of the example: what happens in every block of a hundred orders, and what must become of it.

A block has a hundred places; each place is one message and one subscription. Most orders are plain. The others meet
one of the things that go wrong, or merely look as if they did. Times are seconds from the begin of the block's order.
"""

from dataclasses import dataclass, field, replace

PLACES = 100

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
DAY_MS = 24 * HOUR_MS

MONEY = "Money collected"
PLACED = "Order placed"
SCANNED = "Parcel scanned"
SHOP = "order-to-cash"
LOYALTY = "loyalty-points"


@dataclass(frozen=True, slots=True)
class Message:
    """`order` is the place whose order it is about (its own if None), `copy_of` the place whose id it repeats."""

    at_s: int = 60
    name: str = MONEY
    ttl_ms: int = 0
    order: int | None = None
    copy_of: int | None = None
    key: str = "order-{}"


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who waits, from when until when; `order` as above."""

    opened_s: int = 0
    closed_s: int | None = None
    name: str = MONEY
    process: str = SHOP
    order: int | None = None
    interrupting: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """One place: its message, its subscription, and the verdict and reason that the message must get."""

    what: str
    verdict: str
    reason: str
    message: Message = field(default_factory=Message)
    subscription: Subscription = field(default_factory=Subscription)


PLAIN = Case("the instance waits, then the message comes", "correlated", "waiting_instance")
EARLY = Case(
    "the message is there before the instance waits",
    "correlated",
    "waiting_instance_later",
    Message(at_s=0, ttl_ms=HOUR_MS),
    Subscription(opened_s=90),
)
TOO_EARLY = Case(
    "the message has expired when the instance waits",
    "expired",
    "nobody_waited",
    Message(at_s=0, ttl_ms=5 * MINUTE_MS),
    Subscription(opened_s=1_200),
)
LATE = Case(
    "the instance has given up when the message comes",
    "discarded",
    "ttl_zero",
    Message(at_s=700),
    Subscription(closed_s=600),
)
WRONG_NAME = Case("the name is spelled with another capital", "discarded", "ttl_zero", Message(name="Money Collected"))
WRONG_KEY = Case(
    "the key is written in capitals", "buffered", "nobody_waits", Message(ttl_ms=7 * DAY_MS, key="ORDER-{}")
)
IDLE = Subscription(closed_s=900)
"""An order that is cancelled: somebody waits for a while, and no message is about it."""

SPECIAL: dict[int, Case] = {
    70: replace(PLAIN, what="two processes wait for one message"),
    71: Case(
        "one subscription takes many messages",
        "correlated",
        "waiting_instance",
        Message(name=SCANNED, order=72, at_s=100),
        Subscription(process=LOYALTY, order=70),
    ),
    72: Case(
        "one subscription takes many messages",
        "correlated",
        "waiting_instance",
        Message(name=SCANNED, order=72, at_s=200),
        Subscription(name=SCANNED, interrupting=False),
    ),
    73: Case(
        "one subscription takes many messages",
        "correlated",
        "waiting_instance",
        Message(name=SCANNED, order=72, at_s=300),
        IDLE,
    ),
    88: replace(PLAIN, what="a message that is sent twice: the first", message=Message(ttl_ms=HOUR_MS)),
    89: Case(
        "a message that is sent twice: the second",
        "refused",
        "duplicate_id",
        Message(at_s=65, ttl_ms=HOUR_MS, order=88, copy_of=88),
        IDLE,
    ),
    91: Case(
        "a message starts an instance",
        "correlated",
        "started_instance",
        Message(at_s=0, name=PLACED, ttl_ms=HOUR_MS),
        Subscription(opened_s=5),
    ),
    92: Case(
        "a second order of the same key starts when the first has ended",
        "correlated",
        "started_after_lock",
        Message(at_s=10, name=PLACED, ttl_ms=HOUR_MS, order=91),
        IDLE,
    ),
    93: Case(
        "a message starts an instance that does not end",
        "correlated",
        "started_instance",
        Message(at_s=0, name=PLACED, ttl_ms=HOUR_MS),
        Subscription(opened_s=5),
    ),
    94: replace(PLAIN, what="the started instance gets its money", message=Message(order=91)),
    95: Case(
        "a second order expires behind the instance that runs",
        "expired",
        "was_locked",
        Message(at_s=10, name=PLACED, ttl_ms=10 * MINUTE_MS, order=93),
        IDLE,
    ),
    96: Case(
        "a third order still waits behind it",
        "buffered",
        "locked",
        Message(at_s=20, name=PLACED, ttl_ms=7 * DAY_MS, order=93),
        IDLE,
    ),
    97: Case("nobody ever waits", "discarded", "ttl_zero", Message(), Subscription(process=LOYALTY, order=0)),
}
ENDING, ENDED_S = 91, 400
"""The order whose instance ends in each block, and when."""


def cases() -> list[Case]:
    """The hundred places in their order."""
    plan = [PLAIN] * 40 + [replace(PLAIN, message=Message(ttl_ms=HOUR_MS))] * 15 + [EARLY] * 15
    plan += [PLAIN] * 4 + [TOO_EARLY] * 5 + [LATE] * 4 + [WRONG_NAME] * 3 + [WRONG_KEY] * 2
    plan += [PLAIN] * (PLACES - len(plan))
    for place, case in SPECIAL.items():
        plan[place] = case
    return plan
