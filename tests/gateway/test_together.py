"""Many requests with one wait, filled from several threads at a time; and requests of one turn of the loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conjoin.errors import StoreFailed
from conjoin.gateway.dispatch.dispatcher import Dispatcher
from conjoin.gateway.dispatch.loop_bridge import LoopBridge
from conjoin.gateway.dispatch.reply_group import ReplyGroup
from conjoin.gateway.dispatch.request_batcher import RequestBatcher
from conjoin.runtime.client_api.calls import Ask, Call
from conjoin.runtime.run.batches import Reply


class Shards:
    """Stands in for the threads: notes what came together, and answers with the request as the key."""

    def __init__(self, failing: int = -1, closed: bool = False) -> None:
        self.handed_in: list[tuple[int, list[Any]]] = []
        self._failing = failing
        self._closed = closed

    def hand_in(self, shard: int, asked: Any) -> None:
        if self._closed:
            raise RuntimeError("the runner is closed")
        self.handed_in.append((shard, [request for request, _ in asked]))
        for request, promise in asked:
            if shard == self._failing:
                promise.set_exception(StoreFailed("full"))
            else:
                promise.set_result(Reply(key=request))


def call(shard: int, number: int) -> Call[int]:
    reply = yield Ask(shard, number)
    return int(reply.key)


def nothing_to_ask() -> Call[int]:
    return -1
    yield


def asked_of(shards: Any, calls: list[Call[int]]) -> list[int]:
    async def ask() -> list[int]:
        asking = Dispatcher(shards, None, 10, 1_000)  # type: ignore[arg-type]
        answers = await asking.call_many(calls)
        assert asking.under_way == 0
        return answers

    return asyncio.run(ask())


def test_replies_of_several_threads_all_find_their_place() -> None:
    async def wait() -> list[Any]:
        loop = asyncio.get_running_loop()
        together = ReplyGroup(LoopBridge(loop), loop.create_future(), 4_000)
        with ThreadPoolExecutor(4) as threads:
            for number in range(4_000):
                threads.submit(together.place(number).set_result, Reply(key=number))
        await asyncio.wait_for(together.future, 10)
        return together.replies

    assert [reply.key for reply in asyncio.run(wait())] == list(range(4_000))


def test_many_calls_are_handed_to_each_shard_once_and_answered_in_their_order() -> None:
    shards = Shards()
    calls = [call(number % 2, number) for number in range(6)]
    assert asked_of(shards, [*calls[:3], nothing_to_ask(), *calls[3:]]) == [0, 1, 2, -1, 3, 4, 5]
    assert shards.handed_in == [(0, [0, 2, 4]), (1, [1, 3, 5])]
    assert asked_of(shards, [nothing_to_ask()]) == [-1]


def test_shard_that_fails_is_told_when_all_have_answered() -> None:
    with pytest.raises(StoreFailed, match="full"):
        asked_of(Shards(failing=1), [call(number % 2, number) for number in range(4)])


def test_runner_that_is_closed_leaves_nobody_waiting() -> None:
    async def ask() -> None:
        loop = asyncio.get_running_loop()
        together = ReplyGroup(LoopBridge(loop), loop.create_future(), 1)
        RequestBatcher(loop, Shards(closed=True)).put(0, "request", together.place(0))  # type: ignore[arg-type]
        await asyncio.wait_for(together.future, 10)
        assert isinstance(together.replies[0], RuntimeError)

    asyncio.run(ask())
