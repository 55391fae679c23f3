"""Readers: what nobody waits for any more ends, counts until then, and keeps only its own kind waiting."""

import asyncio
from collections.abc import Callable
from threading import Event
from time import monotonic

import pytest

from conjoin.errors import ReadStopped, StoreFailed
from conjoin.gateway.readers import Readers
from conjoin.store.reading import check

LONGEST_S = 30.0


def busy(begun: Event, ended: Event) -> None:
    """As a walk over a large table."""
    try:
        begun.set()
        give_up = monotonic() + LONGEST_S
        while monotonic() < give_up:
            check()
    finally:
        ended.set()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONGEST_S):
        while not holds():
            await asyncio.sleep(0.005)


def test_reading_ends_at_its_deadline_and_gives_its_thread_back() -> None:
    async def tried() -> int:
        readers, begun, ended = Readers("test", 1, 10), Event(), Event()
        # Its thread is there already: on a busy machine the deadline could be over before one has started.
        await readers.read(lambda: None, LONGEST_S, LONGEST_S)
        with pytest.raises(ReadStopped, match=r"more than 1 s"):
            await readers.read(lambda: busy(begun, ended), 1.0, 0.01)
        answer = await readers.read(lambda: 42, LONGEST_S, LONGEST_S)
        assert ended.is_set()
        await until(lambda: readers.at_work == 0)
        readers.close()
        return answer

    assert asyncio.run(tried()) == 42


def test_reading_ends_when_its_client_goes_away() -> None:
    async def tried() -> None:
        readers, begun, ended = Readers("test", 1, 10), Event(), Event()
        task = asyncio.create_task(readers.read(lambda: busy(begun, ended), LONGEST_S, LONGEST_S))
        await until(begun.is_set)
        task.cancel()
        await until(ended.is_set)
        readers.close()

    asyncio.run(tried())


def test_what_still_runs_counts_though_nobody_waits_for_it() -> None:
    async def tried() -> None:
        readers, go_on = Readers("test", 1, 1), Event()
        with pytest.raises(ReadStopped):
            await readers.read(lambda: go_on.wait(LONGEST_S), 0.05, 0.01)
        assert readers.at_work == 1
        with pytest.raises(StoreFailed, match="wait for the store already"):
            await readers.read(lambda: None, LONGEST_S, LONGEST_S)
        go_on.set()
        await until(lambda: readers.at_work == 0)
        readers.close()

    asyncio.run(tried())
