"""The clients: a process of their own, so that what they cost is not the server's. Prints one line of JSON.

    python -m benchmarks.gateway.load closed|steady|bulk ADDRESS OPEN FIRST COUNT

`closed`: so many clients, each with a connection, publish as soon as they are answered. `steady`: so many a second are
published whatever comes back, and their time counts from when they were due. `bulk`: one request with a line each.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import grpc
import httpx

from benchmarks.broker.latency import percentile
from benchmarks.broker.state import key_of
from benchmarks.broker.throughput import chosen
from conjoin.gateway.grpc.wire import SERVICE, WIRE

CLIENTS = 50
A_SECOND = 200
_VARIABLES = {"amount": 100.5, "paid": True}
_OPTIONS = (("grpc.use_local_subchannel_pool", 1),)
Publish = Callable[[int], Awaitable[Any]]


class Connection:
    """Of one client: nobody shares it."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
        self._call = self._channel.unary_unary(
            f"/{SERVICE}/PublishMessage",
            WIRE["PublishMessageRequest"].SerializeToString,
            WIRE["PublishMessageResponse"].FromString,
        )

    async def publish(self, number: int) -> None:
        asked = WIRE["PublishMessageRequest"](
            name="paid", correlationKey=key_of(number), variables=json.dumps(_VARIABLES)
        )
        await self._call(asked)

    async def close(self) -> None:
        await self._channel.close()


async def closed(address: str, numbers: list[int]) -> dict[str, float]:
    connections = [Connection(address) for _ in range(CLIENTS)]
    await asyncio.gather(
        *(connection.publish(number) for connection, number in zip(connections, numbers, strict=False))
    )
    left = iter(numbers[CLIENTS:])
    took_ms: list[float] = []
    began = time.perf_counter()
    await asyncio.gather(*(_client(connection.publish, left, took_ms) for connection in connections))
    rate = len(took_ms) / (time.perf_counter() - began)
    for connection in connections:
        await connection.close()
    return {"rate": rate, **_percentiles(took_ms)}


async def _client(publish: Publish, numbers: Iterator[int], took_ms: list[float]) -> None:
    for number in numbers:
        began = time.perf_counter()
        await publish(number)
        took_ms.append((time.perf_counter() - began) * 1e3)


async def steady(address: str, numbers: list[int]) -> dict[str, float]:
    connection = Connection(address)
    await connection.publish(numbers[0])
    took_ms: list[float] = []

    async def one(due: float, number: int) -> None:
        await connection.publish(number)
        took_ms.append((time.perf_counter() - due) * 1e3)

    began, under_way = time.perf_counter(), []
    for place, number in enumerate(numbers[1:]):
        due = began + place / A_SECOND
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        under_way.append(asyncio.create_task(one(due, number)))
    await asyncio.gather(*under_way)
    await connection.close()
    return _percentiles(took_ms)


async def bulk(address: str, numbers: list[int]) -> dict[str, float]:
    lines = (json.dumps({"name": "paid", "key": key_of(number), "variables": _VARIABLES}) for number in numbers)
    body = "".join(f"{line}\n" for line in lines).encode()
    headers = {"Content-Type": "application/x-ndjson"}
    async with httpx.AsyncClient(base_url=f"http://{address}", timeout=600) as http:
        began = time.perf_counter()
        answer = await http.post("/conjoin/v1/messages/bulk", content=body, headers=headers)
        took_s = time.perf_counter() - began
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert len(told) == len(numbers), told[-1]
    assert {it["verdict"] for it in told} == {"correlated"}, told[-1]
    return {"rate": len(numbers) / took_s}


def _percentiles(took_ms: list[float]) -> dict[str, float]:
    ordered = sorted(took_ms)
    return {"p50_ms": percentile(ordered, 0.5), "p99_ms": percentile(ordered, 0.99)}


def main() -> None:
    how, address, *sizes = sys.argv[1:]
    instances, first, count = map(int, sizes)
    numbers = chosen(instances, instances)[first : first + count]
    ways = {"closed": closed, "steady": steady, "bulk": bulk}
    print(json.dumps(asyncio.run(ways[how](address, numbers))))


if __name__ == "__main__":
    main()
