"""The way of a publish, from gRPC to the commit: the modules outside the kernel that hand it on.

They are those on the call stacks at three points: where the message is checked and its shard is found, where the kernel
decides, and where the store commits. ARCHITECTURE.md lists them in this order.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import conjoin
from conjoin import fault_points
from conjoin.kernel.correlation import publishing
from conjoin.runtime.client_api import calls
from conjoin.store.sqlite import shard
from tests.gateway.grpc_client import Client
from tests.gateway.server_thread import ServerThread

ROOT = Path(conjoin.__file__).parent
MOST = 12


def on_the_stack() -> Iterator[str]:
    frame: FrameType | None = sys._getframe(2)
    found = []
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT):
            found.append(path.relative_to(ROOT).as_posix())
        frame = frame.f_back
    yield from reversed(found)


def told_way() -> list[str]:
    text = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text()
    [way] = re.findall(r"<!-- way -->\n(.*?)<!-- /way -->", text, re.DOTALL)
    return re.findall(r"^\d+\. `([^`]+)`", way, re.MULTILINE)


@pytest.mark.interpreted
def test_a_publish_passes_the_modules_that_the_architecture_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: dict[str, None] = {}

    def noting(call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: Any, **named: Any) -> Any:
            passed.update(dict.fromkeys(on_the_stack()))
            return call(*given, **named)

        return noted

    server = ServerThread(1)
    client = Client(server.grpc)
    try:
        client.publish("k-1", "warm")
        monkeypatch.setattr(calls, "shard_of", noting(calls.shard_of))
        monkeypatch.setattr(publishing, "offer", noting(publishing.offer))
        monkeypatch.setattr(shard, "passing", noting(fault_points.passing))
        client.publish("k-2", "paid")
    finally:
        client.close()
        server.stop()
    outside = [module for module in passed if not module.startswith("kernel/")]
    assert outside == told_way()
    assert len(outside) <= MOST
