"""The driver: one process that speaks gRPC through the stubs that come with pyzeebe, and knows nothing of the server.

    PYTHON benchmarks/versus/driver.py ADDRESS MODEL COUNT IN_FLIGHT A_SECOND

It runs in an environment of its own, with pyzeebe and without this project. It deploys the model, creates COUNT
instances that wait, publishes a message for each, with so many requests in flight, and stops the clock when the last
instances have ended: those of the last hundred messages are awaited with CreateProcessInstanceWithResult. Then more are
published at a low rate, and the time from each publish to the end of its instance is taken. A request that is turned
away (RESOURCE_EXHAUSTED: back-pressure) is counted and sent again. It prints one line of JSON.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from pathlib import Path

import grpc
from pyzeebe.proto import gateway_pb2 as pb
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

PROCESS, MESSAGE = "order", "paid"
AWAITED = 100
LOW_RATE_COUNT = 400
HOUR_MS = 3_600_000
PAUSE_S = 0.05


class Driver:
    def __init__(self, stub):
        self.stub = stub
        self.turned_away = Counter()

    async def surely(self, call, request):
        """Until it is not turned away."""
        while True:
            try:
                return await call(request)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                    raise
                self.turned_away[type(request).__name__] += 1
                await asyncio.sleep(PAUSE_S)

    def new(self, key):
        variables = json.dumps({"orderId": key})
        return pb.CreateProcessInstanceRequest(bpmnProcessId=PROCESS, version=-1, variables=variables)

    async def create(self, key):
        await self.surely(self.stub.CreateProcessInstance, self.new(key))

    async def ends(self, key):
        asked = pb.CreateProcessInstanceWithResultRequest(request=self.new(key), requestTimeout=600_000)
        await self.surely(self.stub.CreateProcessInstanceWithResult, asked)

    async def publish(self, key):
        asked = pb.PublishMessageRequest(
            name=MESSAGE, correlationKey=key, timeToLive=HOUR_MS, variables=json.dumps({"amount": 100.5})
        )
        await self.surely(self.stub.PublishMessage, asked)

    async def all_of(self, work, keys, in_flight):
        """So many at a time; answers how long each took, in milliseconds."""
        coming, took_ms = iter(keys), []

        async def one():
            for key in coming:
                began = time.perf_counter()
                await work(key)
                took_ms.append((time.perf_counter() - began) * 1e3)

        await asyncio.gather(*(one() for _ in range(in_flight)))
        return took_ms


async def throughput(driver, count, in_flight):
    keys = [f"order-{number:08}" for number in range(count)]
    began = time.perf_counter()
    await driver.all_of(driver.create, keys[:-AWAITED], in_flight)
    created_s = time.perf_counter() - began
    last = [asyncio.create_task(driver.ends(key)) for key in keys[-AWAITED:]]
    await asyncio.sleep(2)
    began = time.perf_counter()
    took_ms = await driver.all_of(driver.publish, keys, in_flight)
    await asyncio.gather(*last)
    whole_s = time.perf_counter() - began
    return {
        "created_a_second": (count - AWAITED) / created_s,
        "advanced_a_second": count / whole_s,
        **percentiles("publish", took_ms),
    }


async def low_rate(driver, a_second):
    """Of each: from its publish to the answer that says that its instance has ended."""
    keys = [f"slow-{number:08}" for number in range(LOW_RATE_COUNT)]
    took_ms = []

    async def one(key, due):
        ended = asyncio.create_task(driver.ends(key))
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter()
        await driver.publish(key)
        await ended
        took_ms.append((time.perf_counter() - began) * 1e3)

    # Each instance waits for a second before its message comes.
    began = time.perf_counter()
    under_way = []
    for number, key in enumerate(keys):
        await asyncio.sleep(max(0.0, began + number / a_second - time.perf_counter()))
        under_way.append(asyncio.create_task(one(key, time.perf_counter() + 1.0)))
    await asyncio.gather(*under_way)
    return percentiles("end", took_ms)


def percentiles(name, took_ms):
    ordered = sorted(took_ms)
    return {f"{name}_p{share}_ms": ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 99)}


async def main():
    address, model, *numbers = sys.argv[1:]
    count, in_flight, a_second = map(int, numbers)
    async with grpc.aio.insecure_channel(address) as channel:
        driver = Driver(GatewayStub(channel))
        resource = pb.Resource(name="order.bpmn", content=Path(model).read_bytes())
        await driver.surely(driver.stub.DeployResource, pb.DeployResourceRequest(resources=[resource]))
        # A Java program is slow for its first thousands.
        warm = [f"warm-{number:08}" for number in range(count)]
        for work in (driver.create, driver.publish):
            await driver.all_of(work, warm, in_flight)
        driver.turned_away.clear()
        found = await throughput(driver, count, in_flight)
        found |= await low_rate(driver, a_second)
    print(json.dumps(found | {"turned_away": sum(driver.turned_away.values())}))


asyncio.run(main())
