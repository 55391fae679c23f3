"""The order-to-cash story, told once for the clients in Python and for zbctl: each brings its own calls.

It runs in the environment of the client, so it may use nothing of this project. What every call may look like stands in
`story.mjs`, too: the two stories are the same.
"""

import asyncio
import json
import os
from urllib.request import Request, urlopen

CLIENT, MODEL = os.environ["CLIENT"], os.environ["MODEL"]
PROCESS = f"order-to-cash-{CLIENT}"
INVOICES = f"send-invoice-{CLIENT}"
HOUR_MS = 3_600_000
NO_WAIT = -1
_MONEY = f"money-collected-{CLIENT}"


class RefusedError(Exception):
    """A call that the gateway said no to, with the name of the status."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Story:
    def __init__(self, calls):
        self.calls = calls
        self.shipped = set()

    async def is_shipped(self, order):
        for _ in range(200):
            if order in self.shipped:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"{order} is not shipped")

    async def pay(self, order, ttl_ms=0, message_id=None):
        await self.calls.publish(_MONEY, order, {"amount": 40}, ttl_ms, message_id)

    async def job(self, order):
        jobs = await self.calls.jobs(10_000)
        assert [job.variables["orderId"] for job in jobs] == [order], jobs
        return jobs[0]

    async def invoice(self, order):
        job = await self.job(order)
        assert (job.headers, job.retries) == ({"layout": "A4"}, 1), job
        await self.calls.complete(job, {"invoice": f"invoice of {order}"})

    async def paid_late_and_early(self):
        late = await self.calls.create({"orderId": "late"})
        await self.invoice("late")
        await self.pay("late")
        await self.is_shipped("late")
        await self.pay("early", HOUR_MS)
        early = await self.calls.create({"orderId": "early"})
        await self.invoice("early")
        await self.is_shipped("early")
        return {"late": late, "early": early}

    async def one_id_is_one_message(self):
        await self.pay("twice", HOUR_MS, "t-1")
        await refused("ALREADY_EXISTS", self.pay("twice", HOUR_MS, "t-1"))

    async def what_expires_is_gone(self):
        await self.pay("expired", 100, "e-1")
        while not await self.id_is_free("expired", "e-1"):
            await asyncio.sleep(0.1)
        expired = await self.calls.create({"orderId": "expired"})
        await self.correlates_nothing("expired")
        await self.invoice("expired")
        assert "expired" not in self.shipped
        await self.correlates("expired", expired)
        await self.is_shipped("expired")
        return {"expired": expired}

    async def id_is_free(self, order, message_id):
        try:
            await self.pay(order, 0, message_id)
        except RefusedError as refusal:
            assert refusal.code == "ALREADY_EXISTS", refusal
            return False
        return True

    async def correlates(self, order, instance):
        """Over gRPC there is no correlation: the money is published there."""
        if hasattr(self.calls, "correlate"):
            assert await self.calls.correlate(_MONEY, order, {"amount": 40}) == instance
        else:
            await self.pay(order)

    async def correlates_nothing(self, order):
        if hasattr(self.calls, "correlate"):
            await refused("NOT_FOUND", self.calls.correlate(_MONEY, order, {}))

    async def one_order_at_a_time(self):
        for _ in range(2):
            await self.calls.publish(f"order-placed-{CLIENT}", "locked", {"orderId": "locked"}, HOUR_MS, None)
        first = (await self.job("locked")).instance
        assert await self.calls.jobs(NO_WAIT) == []
        await self.calls.cancel(first)
        second = (await self.job("locked")).instance
        await self.calls.cancel(second)
        await refused("NOT_FOUND", self.calls.cancel(second))
        return {"first": first, "second": second}

    async def incident_is_resolved(self):
        stuck = await self.calls.create({"orderId": "stuck"})
        job = await self.job("stuck")
        await self.calls.fail(job, 0, "no paper")
        assert await self.calls.jobs(NO_WAIT) == []
        incident = await self.calls.incident(stuck)
        await self.calls.set_retries(job, 1)
        await self.calls.resolve(incident)
        await self.invoice("stuck")
        await self.pay("stuck")
        await self.is_shipped("stuck")
        return {"stuck": stuck}

    async def tell(self):
        assert await self.calls.partitions() > 1
        assert await self.calls.deploy(MODEL) == (PROCESS, 1)
        stop = await self.calls.work(f"ship-parcel-{CLIENT}", self.shipped.add)
        instances = await self.paid_late_and_early()
        await self.one_id_is_one_message()
        instances |= await self.what_expires_is_gone()
        instances |= await self.one_order_at_a_time()
        instances |= await self.incident_is_resolved()
        while asked_by_rest(f"process-instances/{instances['stuck']}")["state"] != "COMPLETED":
            await asyncio.sleep(0.1)
        await stop()
        print(json.dumps(instances))


async def refused(code, call):
    try:
        await call
    except RefusedError as refusal:
        assert refusal.code == code, refusal
    else:
        raise AssertionError(f"not refused with {code}")


def incident_by_rest(instance):
    """gRPC has no searches: people take the key from a page, programs over gRPC from REST."""
    (incident,) = asked_by_rest("incidents/search", {"filter": {"processInstanceKey": str(instance)}})["items"]
    assert (incident["errorMessage"], incident["elementId"]) == ("no paper", "invoice"), incident
    return int(incident["incidentKey"])


def asked_by_rest(path, body=None):
    content = None if body is None else json.dumps(body).encode()
    request = Request(f"{os.environ['REST_ADDRESS']}/v2/{path}", content, {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        return json.load(answer)
