"""A process of its own that makes one run over the inbox of a store, and may be killed in it (`CONJOIN_FAULT`)."""

import sys
from contextlib import closing
from pathlib import Path

from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.opening import open_broker
from conjoin.testing.clock import FakeClock
from tests.runtime.inbox.bench import CHANNELS, preset

if __name__ == "__main__":
    with closing(open_broker(Path(sys.argv[1]), FakeClock())) as broker:
        Inbox(broker, preset(), CHANNELS).run()
