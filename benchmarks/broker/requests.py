"""Requests beside the plain message: what each costs in batches, one shard, one batch after the other."""

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from benchmarks.broker.state import paid
from benchmarks.broker.throughput import BATCH
from conjoin.kernel.process import commands as c
from conjoin.kernel.process.events import CommandRefused
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Deployment
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.run.batches import Batch

_HOUR_MS = 3_600_000
_JOBS = 100
"""So many are handed to a worker at once."""
MODEL = b"""<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="definitions" targetNamespace="urn:conjoin:benchmarks">
  <bpmn:process id="work" isExecutable="true">
    <bpmn:startEvent id="begin"/>
    <bpmn:serviceTask id="pack">
      <bpmn:extensionElements><zeebe:taskDefinition type="pack"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:endEvent id="end"/>
    <bpmn:sequenceFlow id="f1" sourceRef="begin" targetRef="pack"/>
    <bpmn:sequenceFlow id="f2" sourceRef="pack" targetRef="end"/>
  </bpmn:process>
</bpmn:definitions>
"""


def in_turn(broker: Broker, requests: Iterator[object]) -> dict[str, Any]:
    """Their rate, and the CPU time of one; making them is left out."""
    count, wall_s, cpu_s = 0, 0.0, 0.0
    while some := list(islice(requests, BATCH)):
        began, cpu = time.perf_counter(), time.process_time()
        done = broker.post.run(0, Batch(some))
        wall_s, cpu_s = wall_s + time.perf_counter() - began, cpu_s + time.process_time() - cpu
        assert len(done.replies) == len(some)
        assert all(not any(isinstance(it, CommandRefused) for it in reply.decided) for reply in done.replies)
        count += len(some)
    return {"rate": round(count / wall_s), "cpu_us": round(cpu_s * 1e6 / count, 1)}


def with_ids(numbers: list[int]) -> Iterator[NewMessage]:
    """Nobody waits for them any more: each is kept, and its id remembered."""
    for number in numbers:
        yield paid(number, _HOUR_MS, f"m-{number}")


def creations(broker: Broker, count: int) -> Iterator[c.CreateInstance]:
    """Instances that have a job each."""
    assert isinstance(broker.deploy([("work.bpmn", MODEL)]), Deployment)
    for number in range(count):
        yield c.CreateInstance("work", 0, "<default>", {"orderId": f"new-{number}", "amount": number}, broker.now)


def completions(broker: Broker, count: int) -> Iterator[c.CompleteJob]:
    """Of those jobs, which end their instances; handing them out is left out, too."""
    for _ in range(0, count, _JOBS):
        found = broker.activate_jobs("pack", _JOBS)
        assert isinstance(found, list)
        for job in found:
            yield c.CompleteJob(job.key, {"packed": True}, broker.now)
