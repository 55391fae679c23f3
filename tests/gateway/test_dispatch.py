"""Many requests with one wait, filled from several threads at a time; and requests of one turn of the loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from conjoin.errors import StoreFailed
from conjoin.gateway.dispatch import Dispatcher, LoopBridge, ReplyFuture
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
        bridge = LoopBridge(loop)
        replies = [ReplyFuture(bridge, loop.create_future()) for _ in range(4_000)]
        with ThreadPoolExecutor(4) as threads:
            for number, reply in enumerate(replies):
                threads.submit(reply.set_result, Reply(key=number))
        return await asyncio.wait_for(asyncio.gather(*(reply.future for reply in replies)), 10)

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
    with pytest.raises(RuntimeError, match="closed"):
        asked_of(Shards(closed=True), [call(0, 1)])


def test_whoever_stops_waiting_takes_back_all_of_a_bulk() -> None:
    class Silent:
        promises: ClassVar[list[ReplyFuture]] = []

        def hand_in(self, shard: int, asked: Any) -> None:
            self.promises += [promise for _, promise in asked]

    async def ask() -> None:
        dispatcher = Dispatcher(Silent(), None, 10, 1_000)  # type: ignore[arg-type]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(dispatcher.call_many([call(0, 1), call(1, 2)]), 0.05)
        assert (dispatcher.under_way, [promise.cancelled() for promise in Silent.promises]) == (0, [True, True])

    asyncio.run(ask())
