"""The story of the shop: its last hour in a few seconds, and then, until the server stops, one thing at a time."""

import asyncio
from collections.abc import Awaitable
from random import Random

from conjoin.demo import happenings, letters
from conjoin.demo.clerk import Clerk
from conjoin.demo.trade import Trade
from conjoin.errors import ConjoinError
from conjoin.gateway.service import Service
from conjoin.runtime.opening import now_us

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
        for minute in range(happenings.MINUTES):
            self._clock.come_near(happenings.MINUTES - minute)
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
