"""How far what follows from one request may go from shard to shard, so that a circle through several of them ends.

Within a shard `consequences.py` counts. What a shard sends to another carries what is left of an allowance. A
way costs one; that of a signal or a start costs more, and what led to it too. Signals share what is left, and so do
starts, as they multiply. Mail of before carries nothing.
"""

from collections.abc import Sequence
from typing import Any

from conjoin.errors import EndlessRequest
from conjoin.kernel.process import commands as c
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.codec.orders import written_order

MOST = 1_000_000
"""An instance that takes 300,000 kept messages from another shard in a loop needs all of it."""
SIGNAL_COST = 50
FEWEST_STEPS = 1_000
"""On the shard where it arrives, however little is left."""
_MARK = '["Left",'


def shares(left: int, orders: Sequence[Any], shards: int, steps: int = 0) -> list[int]:
    """What each order takes along; raises where nothing is left for it."""
    starts = sum(type(order) is c.StartInstance for order in orders)
    copies = sum(type(order) is c.BroadcastSignal for order in orders)
    cost = SIGNAL_COST + steps if starts or copies else 1
    if left < cost:
        raise EndlessRequest(MOST // SIGNAL_COST if starts or copies else MOST, "as many ways from shard to shard")
    share = {c.StartInstance: max(starts, 1), c.BroadcastSignal: max(copies // max(shards - 1, 1), 1)}
    return [(left - cost) // share[type(it)] if type(it) in share else left - 1 for it in orders]


def written_mail(order: Any, left: int) -> str:
    text = json_text(written_order(order))
    return text if left >= MOST - 1 else f"{_MARK}{left},{text}]"


def order_text(mail: str) -> str:
    """The order of a mail as JSON."""
    return mail.partition(",")[2].partition(",")[2][:-1] if mail.startswith(_MARK) else mail


def left_of(mail: str) -> int:
    return int(mail[len(_MARK) :].partition(",")[0]) if mail.startswith(_MARK) else MOST - 1
