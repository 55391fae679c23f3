"""The kernel in memory, on one core: publish, correlate, advance to the next wait or to the end.

    python -m benchmarks.kernel [--instances 10000 1000000] [--messages 20000] [--write]

A line for each number of open instances: messages a second, the cost of one in wall and in CPU time, and the memory of
an instance that waits (of a small number of them mostly the engine's own). The first line is the yardstick for the cost
of the others. What is wanted: 40,000 messages a second with 10,000 open instances, with a million at most 1.5 times the
cost, and less than 1.5 KB an instance. `CONJOIN_PURE=1` measures the source as it is; `--write` measures both and keeps
the figures in benchmarks/results/kernel.json.
"""

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conjoin import runs_as
from conjoin.runtime import Engine
from conjoin.runtime.client_api.answers import CreatedInstance, Deployment, PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage

MODEL = b"""<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="definitions" targetNamespace="urn:conjoin:benchmarks">
  <bpmn:process id="order" isExecutable="true">
    <bpmn:startEvent id="begin"/>
    <bpmn:intermediateCatchEvent id="paid">
      <bpmn:messageEventDefinition messageRef="message_paid"/>
    </bpmn:intermediateCatchEvent>
    <bpmn:intermediateCatchEvent id="shipped">
      <bpmn:messageEventDefinition messageRef="message_shipped"/>
    </bpmn:intermediateCatchEvent>
    <bpmn:endEvent id="end"/>
    <bpmn:sequenceFlow id="f1" sourceRef="begin" targetRef="paid"/>
    <bpmn:sequenceFlow id="f2" sourceRef="paid" targetRef="shipped"/>
    <bpmn:sequenceFlow id="f3" sourceRef="shipped" targetRef="end"/>
  </bpmn:process>
  <bpmn:message id="message_paid" name="paid">
    <bpmn:extensionElements><zeebe:subscription correlationKey="=orderId"/></bpmn:extensionElements>
  </bpmn:message>
  <bpmn:message id="message_shipped" name="shipped">
    <bpmn:extensionElements><zeebe:subscription correlationKey="=orderId"/></bpmn:extensionElements>
  </bpmn:message>
</bpmn:definitions>
"""
ROUND = 500
RESULTS = Path(__file__).parent / "results" / "kernel.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", action="store_true", help="one line for another process")
    wanted = parser.parse_args()
    found = list(report(wanted.instances, wanted.messages))
    if wanted.write:
        there = {**os.environ, "CONJOIN_PURE": "1"}
        again = [sys.executable, "-m", "benchmarks.kernel", "--json"]
        found += json.loads(subprocess.run(again, env=there, check=True, capture_output=True, text=True).stdout)
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        RESULTS.write_text(json.dumps({"commit": commit, "figures": found}, indent=1) + "\n")
    print(json.dumps(found) if wanted.json else table({"figures": found}))


def table(results: dict[str, Any]) -> str:
    """What the page shows, in Markdown."""
    lines = [
        "| runs as | open instances | messages/s | µs a message | of it CPU | bytes an instance |",
        "|---|---|---|---|---|---|",
    ]
    for row in results["figures"]:
        rate = f"{row['rate']:,} | {row['wall_us']} | {row['cpu_us']}"
        lines.append(f"| {row['runs_as']} | {row['open']:,} | {rate} | {row['bytes']:,} |")
    return "\n".join(lines)


def report(sizes: Sequence[int], messages: int) -> Iterator[dict[str, Any]]:
    for size in sizes:
        before = _resident_bytes()
        engine = _engine(size)
        each_bytes = (_resident_bytes() - before) / size
        cost_us, cpu_us = _costs_us(engine, size, messages)
        row = {"runs_as": runs_as, "open": size, "rate": round(1e6 / cost_us)}
        yield row | {"wall_us": round(cost_us, 1), "cpu_us": round(cpu_us, 1), "bytes": round(each_bytes)}
        del engine
        gc.unfreeze()


def _engine(size: int) -> Engine:
    engine = Engine(_now_us)
    assert isinstance(engine.deploy([("order.bpmn", MODEL)]), Deployment)
    gc.disable()
    for number in range(size):
        created = engine.create_instance("order", {"orderId": f"o-{number}", "amount": number})
        assert isinstance(created, CreatedInstance)
    gc.enable()
    # What waits for long is not worth looking at again and again.
    gc.freeze()
    return engine


def _now_us() -> int:
    return time.time_ns() // 1_000


def _costs_us(engine: Engine, size: int, messages: int) -> tuple[float, float]:
    """Half of the messages lead to the next wait, half to the end; the medians of many rounds, spread over all."""
    half = min(messages // 2, size)
    stride = size // half
    rounds = [
        _round_us(engine, name, range(first * stride, min(first + ROUND, half) * stride, stride))
        for name in ("paid", "shipped")
        for first in range(0, half, ROUND)
    ]
    wall, cpu = zip(*rounds, strict=True)
    return statistics.median(wall), statistics.median(cpu)


def _round_us(engine: Engine, name: str, numbers: range) -> tuple[float, float]:
    started, cpu_started = time.perf_counter(), time.process_time()
    for number in numbers:
        answer = engine.publish(NewMessage(name, f"o-{number}", {"at": number}))
        assert isinstance(answer, PublishedMessage)
    cpu, wall = time.process_time() - cpu_started, time.perf_counter() - started
    return wall * 1e6 / len(numbers), cpu * 1e6 / len(numbers)


def _resident_bytes() -> int:
    with open("/proc/self/statm") as statm:  # noqa: PTH123 - a pseudo file
        return int(statm.read().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    main()
