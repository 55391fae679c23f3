"""The inbox of the demo: its settings, and what comes in by post, so that every state of it is there.

`branch` is another engine as far as the inbox knows, which is called over REST; this server plays it itself.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from conjoin.demo.happenings import CHEQUE
from conjoin.demo.trade import PAID, Trade

PAYMENTS, BRANCH = "payments", "branch"


def inbox_section(rest_address: str) -> dict[str, Any]:
    """As it would stand in conjoin.toml."""
    return {
        "max_attempts": 2,
        "backoff_unit": "20m",
        "poll_interval": "5m",
        "channels": {PAYMENTS: {}, BRANCH: {"target": BRANCH}},
        "targets": {BRANCH: {"kind": "camunda8", "url": rest_address, "operation": "correlate"}},
    }


async def first_post(shop: Trade) -> None:
    """Two that will be given up: nobody waits for them, now or later."""
    rows = (_payment(f"post-{number}", f"order-07{number}", received=number) for number in (31, 44))
    # Whoever wrote this row has misspelt a field: it becomes a dead letter.
    misspelt = {"id": "post-33", "nmae": PAID, "key": "order-0733", "variables": {"received": 33}}
    await shop.clerk.receive(PAYMENTS, *rows, misspelt)
    await shop.clerk.deliver()


async def second_post(shop: Trade) -> None:
    """What is taken: by our engine, by the branch, and by nobody yet but kept."""
    ours, theirs = await shop.place(set_aside=True), await shop.place(set_aside=True)
    await shop.invoice()
    await shop.clerk.receive(
        PAYMENTS,
        _payment("post-50", ours.id, received=ours.amount),
        {"id": "post-51", "name": CHEQUE, "key": "cheque-118", "variables": {"received": 85}},
    )
    await shop.clerk.receive(
        BRANCH, _payment("branch-1", theirs.id, received=theirs.amount), {"id": "branch-2", "name": PAID}
    )
    await shop.clerk.deliver()


async def last_post(shop: Trade, number: int = 60) -> None:
    """What waits: in line behind one that failed, in its grace time, paused; and one that somebody deletes."""
    key = f"order-05{number}"
    await shop.clerk.receive(
        PAYMENTS,
        _payment(f"post-{number}", key, received=64),
        _payment(f"post-{number}-again", key, received=64),
        {**_payment(f"post-{number}-early", f"order-9{number}", received=120), "grace": "PT12H"},
        _payment(f"post-{number}-paused", f"order-04{number}", received=18),
        _payment(f"post-{number}-twice", f"order-03{number}", received=18),
        {"id": f"post-{number}-torn", "name": PAID, "key": f"order-02{number}", "payload": "<payment>64"},
    )
    await shop.clerk.operate("pause", f"post-{number}-paused")
    await shop.clerk.operate("delete", f"post-{number}-twice")
    await shop.clerk.deliver()


def _payment(message_id: str, key: str, **variables: Any) -> dict[str, Any]:
    return {"id": message_id, "name": PAID, "key": key, "variables": variables}


BY_MINUTE: dict[int, tuple[Callable[[Trade], Awaitable[None]], ...]] = {
    2: (first_post,),
    27: (second_post,),
    49: (last_post,),
}
