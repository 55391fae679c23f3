"""A clock that stands still until it is moved. It begins at 2030-01-01T00:00:00Z."""

START_US = 1_893_456_000_000_000


class FakeClock:
    """Microseconds since 1970, as the engine counts time."""

    def __init__(self, now_us: int = START_US) -> None:
        self._now_us = now_us

    def __call__(self) -> int:
        return self._now_us

    def advance_ms(self, duration_ms: int) -> None:
        self._now_us += duration_ms * 1_000
