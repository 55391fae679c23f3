"""What else happens in the hour, minute by minute: whatever a message can meet with, each once.

A function is one happening, and its first line says what becomes of its message. Those that need time (a deadline, the
end of another instance) come early; what is to be seen for long comes late.
"""

from collections.abc import Awaitable, Callable

from conjoin.demo.trade import FIRST, HOUR_S, ORDERED, PAID, Trade

MINUTES = 50
FOR_VISITORS = f"order-{FIRST}"
"""It waits for its money, and nobody of the shop pays it."""
DAY_S = 24 * HOUR_S
ARRIVED, WITHDRAWN, BOUGHT, REDEEMED = "Parcel arrived", "Return withdrawn", "Voucher bought", "Voucher redeemed"
NEWSLETTER, CHEQUE = "Newsletter opened", "Cheque cleared"


async def opens(shop: Trade) -> None:
    """Nothing yet: the models, and the policies in which the shop differs from Zeebe."""
    await shop.clerk.deploy("order_to_cash_1.bpmn", "order_to_cash.bpmn")
    await shop.clerk.deploy("returns.bpmn")
    await shop.clerk.set_policy(WITHDRAWN, cardinality="exactly_one")
    await shop.clerk.set_policy(REDEEMED, expected=2)
    await shop.clerk.set_policy(NEWSLETTER, on_no_match="discard")
    await shop.clerk.set_policy(CHEQUE, on_no_match="buffer")
    await shop.place(set_aside=True)
    for _ in range(2):
        # Never paid, so that the first version of the model still has somebody when the second is there.
        await shop.place(set_aside=True)


async def pays_before_the_invoice(shop: Trade) -> None:
    """Correlated later than it was published."""
    order = await shop.place(set_aside=True)
    await shop.clerk.publish(PAID, order.id, HOUR_S, received=order.amount)
    await shop.invoice()


async def orders_twice_and_gets_both(shop: Trade) -> None:
    """Started an instance after a lock: the second order of a key when the first was delivered."""
    order = await shop.place(set_aside=True)
    await shop.clerk.publish(ORDERED, order.id, HOUR_S, **order.variables)
    await shop.invoice()
    await shop.clerk.publish(PAID, order.id, received=order.amount)
    await shop.clerk.work("ship-parcel")


async def orders_twice_and_gets_one(shop: Trade) -> None:
    """Expired, as it was locked: the first order of the key still waits for its money."""
    order = await shop.place(set_aside=True)
    await shop.clerk.publish(ORDERED, order.id, 180, **order.variables)


async def buys_a_voucher_too_early(shop: Trade) -> None:
    """Expired and never offered: what it could start was deployed while it was kept."""
    await shop.clerk.publish(BOUGHT, "gift-7Q4K", 300, code="gift-7Q4K", amount=50)
    await shop.clerk.deploy("vouchers.bpmn")


async def redeems_a_voucher(shop: Trade) -> None:
    """Short: the books should have heard of it, too."""
    for code in ("gift-2M8X", "gift-9D3T"):
        await shop.clerk.publish(BOUGHT, code, code=code, amount=50)
    await shop.clerk.work("print-voucher")
    await shop.clerk.publish(REDEEMED, "gift-2M8X", 300)


async def pays_for_nothing(shop: Trade) -> None:
    """Expired as nobody waited, and discarded at once."""
    await shop.clerk.publish(PAID, "order-l003", 120, received=64)
    await shop.clerk.publish(PAID, "order-l004", received=79)


async def opens_the_newsletter(shop: Trade) -> None:
    """Discarded by policy."""
    await shop.clerk.publish(NEWSLETTER, "spring-2026", HOUR_S)


async def deploys_the_second_version(shop: Trade) -> None:
    """Nothing: from now on large orders are approved, and orders can be called off."""
    await shop.clerk.deploy("order_to_cash_2.bpmn", "order_to_cash.bpmn")


async def changes_mind_twice(shop: Trade) -> None:
    """Given back, and kept: of two messages that came early for one decision the second lost."""
    await _both_come_early(shop, "order-0931")
    await shop.clerk.start("returns", orderId="order-0931", goods="chess set")


async def sends_back_two_things(shop: Trade) -> None:
    """Given back and taken: the second return of the order has use for what the first had not."""
    await _both_come_early(shop, "order-0957")
    for goods in ("tea pot", "atlas"):
        await shop.clerk.start("returns", orderId="order-0957", goods=goods)


async def _both_come_early(shop: Trade, key: str) -> None:
    for name in (ARRIVED, WITHDRAWN):
        await shop.clerk.publish(name, key, DAY_S)


async def sends_back_and_waits(shop: Trade) -> None:
    """Taken by the process: one return has it, and the other waits in vain. Then refused as ambiguous."""
    for goods in ("backpack", "rain jacket"):
        await shop.clerk.start("returns", orderId="order-0964", goods=goods)
    await shop.clerk.publish(ARRIVED, "order-0964", DAY_S)
    for goods in ("garden chair", "wool blanket"):
        await shop.clerk.start("returns", orderId="order-0972", goods=goods)
    await shop.clerk.publish(WITHDRAWN, "order-0972", HOUR_S)


async def goes_wrong(shop: Trade) -> None:
    """No verdict: an incident of a job, and one of a return of which nobody knows the order."""
    await shop.clerk.start("returns", goods="telescope", customer="Ingrid Østby")
    await shop.clerk.work("check-goods")
    await shop.clerk.give_up("refund-money", "the bank says: account 4711 is closed")


async def orders_again(shop: Trade) -> None:
    """Buffered, as it is locked; and refused for the same reason, of who wants an answer at once."""
    order = await shop.place(set_aside=True)
    await shop.clerk.publish(ORDERED, order.id, 2 * HOUR_S, **order.variables)
    await shop.clerk.correlate(ORDERED, order.id, **order.variables)


async def pays_in_the_wrong_words(shop: Trade) -> None:
    """Buffered, nobody waits; refused, not found; and refused as a duplicate."""
    order = await shop.place(set_aside=True)
    await shop.invoice()
    await shop.clerk.publish("Money colected", order.id, DAY_S, received=order.amount)
    await shop.clerk.publish(PAID, order.id.capitalize(), DAY_S, received=order.amount, currency="EUR")
    await shop.clerk.correlate(PAID, "order-0815", received=12)
    for _ in range(2):
        await shop.clerk.publish(PAID, "order-0816", DAY_S, "payment-17", received=12)


Happening = Callable[[Trade], Awaitable[None]]
BY_MINUTE: dict[int, tuple[Happening, ...]] = {
    0: (opens, orders_twice_and_gets_one, buys_a_voucher_too_early),
    3: (pays_before_the_invoice, orders_twice_and_gets_both),
    8: (redeems_a_voucher, pays_for_nothing),
    14: (opens_the_newsletter,),
    20: (deploys_the_second_version,),
    31: (changes_mind_twice, sends_back_two_things),
    36: (sends_back_and_waits,),
    41: (goes_wrong, orders_again),
    46: (pays_in_the_wrong_words,),
}
