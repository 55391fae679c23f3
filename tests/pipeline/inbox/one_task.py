"""A process of its own that does what a task does on one shard, and may be killed in it (`CONJOIN_FAULT`)."""

import sys

from conjoin.pipeline.inbox.draining import DrainRound, drain
from conjoin.testing.clock import FakeClock
from tests.runtime.inbox.bench import preset

if __name__ == "__main__":
    now = FakeClock()()
    drain(DrainRound(sys.argv[1], now, now, preset(), 5, 60.0, {0: []}, [0]), 0)
