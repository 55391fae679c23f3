"""The clock of the demo: it starts an hour behind, so that a past can be told, and then goes with the real one."""

from conjoin.runtime.opening import now_us

MINUTE_US = 60_000_000


class ShopClock:
    """For a broker. It only ever moves ahead: whoever sets it comes nearer to now each time."""

    def __init__(self, minutes_behind: int) -> None:
        self._behind_us = minutes_behind * MINUTE_US

    def __call__(self) -> int:
        return now_us() - self._behind_us

    def come_near(self, minutes_behind: int) -> None:
        self._behind_us = min(self._behind_us, minutes_behind * MINUTE_US)
