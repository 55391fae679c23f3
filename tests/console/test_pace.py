"""The minutes of the last hour: what is counted, once, where; and what is forgotten."""

from collections import Counter
from typing import NamedTuple

from conjoin.console.message_rate import Pace

MINUTE = 60_000_000
NOW = 10_000 * MINUTE


class Row(NamedTuple):
    key: int
    published_at: int
    decided_at: int
    verdict: str = "correlated"
    reason: str = "waiting_instance"


class Head(NamedTuple):
    time: int
    version: int = 1


class Reply(NamedTuple):
    swept: int


class Commit(NamedTuple):
    messages: list[Row]
    head: Head
    replies: list[Reply]
    shard: int = 0
    committed: bool = True


def commit(at: int, *rows: Row, swept: int = 0) -> Commit:
    return Commit(list(rows), Head(at), [Reply(swept)])


def total(pace: Pace, now: int) -> tuple[int, Counter[str]]:
    minutes = pace.minutes(now)
    verdicts: Counter[str] = Counter()
    for minute in minutes:
        for (verdict, _), count in minute.decided.items():
            verdicts[verdict] += count
    return sum(minute.published for minute in minutes), verdicts


def test_message_is_published_once_and_each_of_its_verdicts_counts_in_its_minute() -> None:
    pace = Pace(NOW)
    kept = Row(1, NOW + 1, NOW + 1, "buffered", "nobody_waits")
    pace.committed(commit(NOW + 1, kept))
    pace.committed(commit(NOW + 5, kept))
    pace.committed(commit(NOW + MINUTE, kept._replace(verdict="correlated", decided_at=NOW + MINUTE)))
    assert total(pace, NOW + MINUTE) == (1, Counter(buffered=1, correlated=1))
    assert [minute.decided.total() for minute in pace.minutes(NOW + MINUTE)[-2:]] == [1, 1]


def test_deadline_that_a_sweep_notices_after_other_commits_is_counted_once() -> None:
    pace = Pace(NOW)
    lost, other = Row(1, NOW + 1, NOW + 10, "expired", "nobody_waited"), Row(2, NOW + 12, NOW + 12)
    pace.committed(commit(NOW + 1, lost._replace(verdict="buffered", decided_at=NOW + 1)))
    pace.committed(commit(NOW + 12, other))
    pace.committed(commit(NOW + 15, lost, swept=1))
    pace.committed(commit(NOW + 16, lost))
    assert total(pace, NOW + 16) == (2, Counter(buffered=1, correlated=1, expired=1))


def test_minutes_are_an_hour_and_older_ones_are_forgotten() -> None:
    pace = Pace(NOW)
    for minute in range(100):
        at = NOW + minute * MINUTE + 1
        pace.committed(commit(at, Row(minute, at, at)))
    minutes = pace.minutes(NOW + 99 * MINUTE + 2)
    assert len(minutes) == 60
    assert [minute.published for minute in minutes] == [1] * 60
    assert total(pace, NOW + 500 * MINUTE) == (0, Counter())


def test_what_was_there_before_counts_as_far_as_whole_minutes_were_read() -> None:
    rows = [Row(3, NOW - MINUTE, NOW - MINUTE), Row(2, NOW - 2 * MINUTE, NOW - MINUTE), Row(1, NOW - 2 * MINUTE, NOW)]
    complete, cut = Pace(NOW), Pace(NOW)
    complete.begin_with(rows, most=4)
    cut.begin_with(rows, most=3)
    assert total(complete, NOW) == (3, Counter(correlated=3))
    assert total(cut, NOW) == (1, Counter(correlated=1))
