"""Opening the demo: a store of its own, its inbox, what to try next; and the story of the shop: its last hour in a few
seconds, and then, until the server stops, one thing at a time.
"""

import asyncio
import socket
from collections.abc import Awaitable
from pathlib import Path
from random import Random
from typing import NamedTuple

from conjoin.demo import happenings, letters
from conjoin.demo.clerk import Clerk
from conjoin.demo.happenings import FOR_VISITORS, MINUTES
from conjoin.demo.trade import PAID, Trade
from conjoin.errors import ConjoinError, InputError
from conjoin.gateway.service import Service
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.configuration import Configuration, read_configuration
from conjoin.runtime.opening import create_broker, now_us, temporary_broker

SHARDS = 2
_SEED = 8
_MINUTE_US = 60_000_000
_PAUSE_S = 1.2
_POST_EVERY = 500
"""So many moments, ten minutes, lie between two deliveries by post."""


class ShopClock:
    """For a broker: it starts an hour behind, so that there is a past, and only ever comes nearer to the real time."""

    def __init__(self, minutes_behind: int) -> None:
        self._behind_us = minutes_behind * _MINUTE_US

    def __call__(self) -> int:
        return now_us() - self._behind_us

    def come_near(self, minutes_behind: int) -> None:
        self._behind_us = min(self._behind_us, minutes_behind * _MINUTE_US)


class Story:
    """Played once, with the clock of the broker."""

    def __init__(self, clock: ShopClock) -> None:
        self._clock = clock

    async def live(self, service: Service) -> None:
        """Until it is cancelled."""
        shop = await self.replay_the_hour(service)
        moment = 0
        while True:
            await asyncio.sleep(_PAUSE_S)
            moment += 1
            await _unless_busy(shop.moment())
            if moment % _POST_EVERY == 0:
                await _unless_busy(letters.last_post(shop, 60 + moment // _POST_EVERY))

    async def replay_the_hour(self, service: Service) -> Trade:
        """The shop as it then is."""
        shop = Trade(Clerk(service), Random(_SEED))
        for minute in range(MINUTES):
            self._clock.come_near(MINUTES - minute)
            await _unless_busy(shop.clerk.let_time_pass())
            for happening in (*happenings.BY_MINUTE.get(minute, ()), *letters.BY_MINUTE.get(minute, ())):
                await _unless_busy(happening(shop))
            await _unless_busy(shop.minute())
        self._clock.come_near(0)
        return shop


async def _unless_busy(act: Awaitable[None]) -> None:
    """When the server or its disk has too much to do, people come before a demo."""
    try:
        await act
    except ConjoinError:
        return


class Demo(NamedTuple):
    """The story goes on beside the server, on `rest_port`; the caller closes the broker."""

    address: Path
    broker: Broker
    inbox: Configuration
    rest_port: int
    story: Story

    def what_to_try(self, rest: str, zbctl: str) -> list[str]:
        """Lines that run as they are, once the shop has replayed its hour."""
        body = f'{{"name": "money collected", "key": "{FOR_VISITORS}"}}'
        return [
            "The demo shop replays its last hour within seconds, then continues live. Try:",
            f"  open {rest}/",
            f"  curl -sS {rest}/conjoin/v1/explain -H 'Content-Type: application/json' -d '{body}'",
            f"  {zbctl} publish message '{PAID}' --correlationKey {FOR_VISITORS}",
            f"  curl -sS '{rest}/conjoin/v1/messages?key={FOR_VISITORS}'",
        ]


def open_demo(data: str | None, host: str, rest_port: int) -> Demo:
    """In a directory that is empty or is made, or in a temporary one, which is gone when the broker is closed."""
    if data is not None and Path(data).exists() and (not Path(data).is_dir() or any(Path(data).iterdir())):
        raise InputError([f"--data {data}: the demo would mix with what is there: name an empty directory, or none"])
    clock = ShopClock(MINUTES)
    port = rest_port or _free_port(host)
    inbox = read_configuration(letters.inbox_section(f"http://{_reachable(host)}:{port}"), {})
    broker = temporary_broker(SHARDS, clock) if data is None else create_broker(Path(data), SHARDS, clock)
    return Demo(Path(broker.store.address), broker, inbox, port, Story(clock))


def _reachable(host: str) -> str:
    """From this machine."""
    if host in ("0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _free_port(host: str) -> int:
    """The inbox must know where the server will be before it is there."""
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
        port: int = free.getsockname()[1]
    return port
