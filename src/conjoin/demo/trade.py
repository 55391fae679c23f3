"""The everyday trade: orders are placed, invoiced, paid and shipped, and now and then somebody makes a slip.

What is set aside by `place` is left alone by the rest: somebody else has plans for it. The number of orders that wait
for their money stays bounded, however long the shop is open.
"""

from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from conjoin.demo.clerk import Clerk

ORDERED, PAID, CALLED_OFF = "Order placed", "Money collected", "Order called off"
HOUR_S = 3_600
_MOST_UNPAID = 24
_LARGE = 500
_TASKS_LEFT = 3
CUSTOMERS = (
    *("Amara Okafor", "Mateo Fernández", "Yuki Tanaka", "Zoë van Dijk", "Łukasz Nowak", "Priya Raman", "Søren Holm"),
    *("Fatima Haddad", "Chen Wei", "Oluwaseun Bello", "Ingrid Østby", "Tomás Quispe", "Leilani Kahale", "Nikos Pappas"),
    *("Aoife Brennan", "Dmytro Kovalenko", "Sofia Rossi", "Mehmet Yıldız", "Hana Nováková", "José Carvalho"),
)
GOODS = (
    *(("desk lamp", 45), ("espresso machine", 620), ("mechanical keyboard", 139), ("wool blanket", 79)),
    *(("road bike", 1_290), ("chess set", 58), ("cast iron pan", 64), ("rain jacket", 149), ("atlas", 85)),
    *(("record player", 340), ("garden chair", 95), ("telescope", 780), ("tea pot", 32), ("backpack", 119)),
)
FIRST = 1_000


class ShopOrder(NamedTuple):
    id: str
    customer: str
    goods: str
    amount: int

    @property
    def variables(self) -> dict[str, Any]:
        return {"orderId": self.id, "customer": self.customer, "goods": self.goods, "amount": self.amount}


def orders(chance: Random) -> Iterator[ShopOrder]:
    """Any number, the same ones from the same seed. Those of 500 and more are approved by an operator first."""
    number = FIRST
    while True:
        goods, price = chance.choice(GOODS)
        yield ShopOrder(f"order-{number}", chance.choice(CUSTOMERS), goods, price)
        number += 1


class Trade:
    def __init__(self, clerk: Clerk, chance: Random) -> None:
        self.clerk = clerk
        self._chance = chance
        self._orders = orders(chance)
        self._unpaid: list[ShopOrder] = []

    async def place(self, set_aside: bool = False) -> ShopOrder:
        """What is set aside is a small order, so that nobody has to approve it."""
        order = next(self._orders)
        while set_aside and order.amount >= _LARGE:
            order = next(self._orders)
        await self.clerk.publish(ORDERED, order.id, message_id=f"web-{order.id}", **order.variables)
        if not set_aside:
            self._unpaid.append(order)
        return order

    async def invoice(self) -> None:
        await self.clerk.work("send-invoice")

    async def pay(self) -> None:
        """Some pay before they have the invoice; the money is kept for an hour."""
        if self._unpaid:
            order = self._unpaid.pop(self._chance.randrange(min(len(self._unpaid), 6)))
            paid = {"paidBy": order.customer, "received": order.amount}
            await self.clerk.publish(PAID, order.id, HOUR_S, f"bank-{order.id}", **paid)

    async def ship(self) -> None:
        await self.clerk.work("ship-parcel", 2)

    async def call_off(self) -> None:
        if self._unpaid:
            order = self._unpaid.pop(0)
            await self.clerk.publish(CALLED_OFF, order.id, HOUR_S, reason="changed my mind")
            await self.clerk.work("call-off-order")

    async def approve(self) -> None:
        await self.clerk.approve(leave=_TASKS_LEFT)

    async def slip(self) -> None:
        """A payment that nobody can place: a letter in the place of a digit, another case, a name that is none."""
        if self._unpaid:
            order = self._chance.choice(self._unpaid)
            name, key = self._chance.choice(
                [(PAID, order.id.replace("0", "O", 1)), (PAID, order.id.upper()), ("Money colected", order.id)]
            )
            ttl_s = self._chance.choice([0, 120, HOUR_S])
            await self.clerk.publish(name, key, ttl_s, paidBy=order.customer, received=order.amount)

    async def minute(self) -> None:
        """One of the past, all at once."""
        for _ in range(self._chance.randint(1, 4)):
            await self.place()
        await self.invoice()
        for _ in range(self._chance.randint(0, 4)):
            await self.pay()
        if self._chance.random() < 0.25:
            await self.slip()
        await self.approve()
        await self.ship()

    async def moment(self) -> None:
        """Some single thing."""
        if len(self._unpaid) > _MOST_UNPAID:
            await self.pay()
            return
        often: list[Callable[[], Awaitable[object]]] = [self.place, self.invoice, self.pay, self.ship]
        seldom = [self.approve, self.approve, self.slip, self.call_off]
        await self._chance.choice([*often * 4, *seldom])()
