"""What other processes commit on the same store counts in the minutes of the overview, once, as our own does."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from conjoin.console.message_rate import HOUR_US, Pace
from conjoin.gateway.queries.commits import committed_since, versions
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.runtime.run.carriers.shard_threads import ShardThreads, shard_threads

SHARDS = 2


class Watch:
    """A pace that sees the commits of one broker, and looks for those of others when asked."""

    def __init__(self, broker: Broker, threads: ShardThreads) -> None:
        self._broker = broker
        self.pace = Pace(broker.now, versions(broker))
        threads.listener = self.pace.committed

    def look(self, within_s: float = 60.0) -> tuple[int, Counter[str]]:
        followed_shards = self.pace.followed()
        assert len(followed_shards) == SHARDS
        for shard, (followed, ours) in followed_shards.items():
            since = self._broker.now - HOUR_US
            found = committed_since(self._broker, shard, followed, since, ours.__contains__, within_s)
            self.pace.others(shard, *found)
        minutes = self.pace.minutes(self._broker.now)
        verdicts = Counter(dict.fromkeys((), 0))
        for minute in minutes:
            for (verdict, _), count in minute.decided.items():
                verdicts[verdict] += count
        return sum(minute.published for minute in minutes), verdicts


def publish(broker: Broker, numbers: range, ttl_ms: int = 10**6) -> None:
    for number in numbers:
        broker.publish(NewMessage("paid", f"order-{number}", {}, ttl_ms))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create_broker(tmp_path / "store", SHARDS).close()
    return tmp_path / "store"


def test_commits_of_two_writers_are_counted_once_each(folder: Path) -> None:
    with closing(open_broker(folder)) as ours, closing(open_broker(folder)) as theirs, shard_threads(ours) as threads:
        watch = Watch(ours, threads)
        publish(ours, range(5))
        publish(theirs, range(5, 12))
        publish(ours, range(12, 15), 0)
        publish(theirs, range(15, 17), 0)
        assert watch.look() == (17, Counter(buffered=12, discarded=5))
        assert watch.look() == (17, Counter(buffered=12, discarded=5))
        publish(theirs, range(17, 18))
        publish(ours, range(18, 19))
        assert watch.look() == (19, Counter(buffered=14, discarded=5))


def test_looking_goes_on_where_its_time_was_over(folder: Path) -> None:
    with closing(open_broker(folder)) as ours, closing(open_broker(folder)) as theirs, shard_threads(ours) as threads:
        watch = Watch(ours, threads)
        publish(theirs, range(200))
        counts = [watch.look(0.0)[0] for _ in range(6)]
        assert 0 < counts[0] < counts[1] <= 200
        assert counts[-1] == 200


def test_commit_of_ours_that_was_found_in_the_log_first_is_counted_once(folder: Path) -> None:
    with closing(open_broker(folder)) as ours, shard_threads(ours) as threads:
        watch = Watch(ours, threads)
        held: list[object] = []
        threads.listener = held.append
        publish(ours, range(6))
        assert watch.look()[0] == 6
        for commit in held:
            watch.pace.committed(commit)
        assert watch.look() == (6, Counter(buffered=6))
