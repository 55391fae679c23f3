"""An hour of a shop: orders are placed and paid, and what goes wrong goes wrong in every usual way."""

from random import Random

from tests.console.server import CLAIMS, MINUTE_US, MODELS, STUCK, ConsoleServer

_MINUTES = 48
ORDERED, PAID = "Order placed", "Money collected"


def tell(server: ConsoleServer, seed: int) -> None:
    chance = Random(seed)
    server.behind_us = _MINUTES * MINUTE_US
    for path in sorted(MODELS.glob("*.bpmn")):
        server.deploy(path.read_bytes(), path.name)
    server.deploy(STUCK, "returns.bpmn")
    server.deploy(CLAIMS, "claims.bpmn")
    for number in range(4):
        server.create("claims", sum=50 * number + 60, orderId=f"claim-{number}")
    server.work("check", 3)
    number = 0
    for minute in range(_MINUTES):
        server.behind_us = (_MINUTES - minute) * MINUTE_US
        number = _minute(server, chance, number)
    server.behind_us = 0
    _what_goes_wrong(server)


def _minute(server: ConsoleServer, chance: Random, number: int) -> int:
    for _ in range(chance.randint(1, 4)):
        number += 1
        amount = chance.randint(10, 900)
        server.publish(ORDERED, f"order-{number}", variables={"orderId": f"order-{number}", "amount": amount})
    server.work("send-invoice")
    for paid in range(max(number - 3, 1), number):
        if chance.random() < 0.4:
            server.publish(PAID, f"order-{paid}", ttl="1h", variables={"paid": True})
    if chance.random() < 0.2:
        server.publish(PAID, f"refund-{number}")
    server.work("ship-parcel", 2)
    return number


def _what_goes_wrong(server: ConsoleServer) -> None:
    server.create("returns", reason="does not fit")
    server.publish(ORDERED, "order-900", variables={"orderId": "order-900", "amount": 75})
    server.work("send-invoice")
    server.publish("Money colected", "order-900", ttl="2h")
    for _ in range(2):
        # The second is refused: the id is known.
        server.client.post("/conjoin/v1/messages", json={"name": PAID, "key": "x-2", "id": "payment-17", "ttl": "1h"})
    server.publish(PAID, "Order-900", ttl="2h", variables={"amount": 75, "currency": "EUR"})
    for number in range(3):
        server.receive(id=f"p-{number}", name="Cheque arrived", key=f"cheque-{number}", variables={"amount": number})
    assert server.service.inbox is not None
    server.service.inbox.run()
