"""The customers of the shop and what they buy: any number of orders, the same ones from the same seed."""

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

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
    """Small ones and large ones: those of 500 and more are approved by a person first."""
    number = FIRST
    while True:
        goods, price = chance.choice(GOODS)
        yield ShopOrder(f"order-{number}", chance.choice(CUSTOMERS), goods, price)
        number += 1
