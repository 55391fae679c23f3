"""A full disk and a damaged page: a clear error, the other shards go on, and nothing acknowledged is lost."""

import resource
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import open_broker
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.testing.checking import HistoryFile, RecordedHistory, RequestAnswered, RequestMade, marked, read_history
from tests.faults.conftest import MakeRound
from tests.faults.places import Round
from tests.faults.processes import end, start, write
from tests.faults.story import HOUR_MS
from tests.faults.writer import Chapter, StoryClock, Writer, tell

SHARDS = 3
SMALL_DISK_BYTES = 400_000
LARGE = "x" * 8_000
_KEYS = {shard_of(f"k-{number}", SHARDS): f"k-{number}" for number in range(50)}
"""A correlation key of each shard."""


def publish(chapter: Chapter, count: int, disk_bytes: int = 0) -> None:
    """Large messages to the first shard, then small ones to all. May run in a process of its own, on a small disk."""
    if disk_bytes:
        # Python lets the write fail, instead of the signal that would end the process.
        resource.setrlimit(resource.RLIMIT_FSIZE, (disk_bytes, disk_bytes))
    clock = StoryClock()
    clock.number = chapter.first
    with closing(HistoryFile(chapter.history)) as history, closing(open_broker(chapter.store, clock)) as broker:
        writer = Writer(broker, history)
        with shard_threads(broker):
            for number in range(count):
                writer.carry_out(message(f"large{number}", 0, {"large": LARGE}))
            for number in range(chapter.count):
                for shard in range(SHARDS):
                    writer.carry_out(message(f"small{number}", shard, {}))


def message(name: str, shard: int, variables: dict[str, str]) -> RequestMade:
    request = f"{name}-{shard}"
    said = {"name": "paid", "key": _KEYS[shard], "ttl_ms": HOUR_MS, "variables": marked(request, variables)}
    return RequestMade(request, "publish", said)


def answers_of(history: RecordedHistory, shard: int) -> list[RequestAnswered]:
    return [answer for request, answer in history.answers.items() if request.endswith(f"-{shard}")]


def finish(at: Round) -> None:
    assert end(start(write, at.chapter(1_000, 25, ends=True))) == 0
    assert at.finding() == ("yes", "")


def check_failure(at: Round, failing: int, code: str, text: str) -> None:
    history = read_history(at.history)
    for shard in range(SHARDS):
        failed = [answer.details for answer in answers_of(history, shard) if answer.outcome == "failed"]
        assert bool(failed) == (shard == failing)
        assert all(said["code"] == code and text in said["text"] for said in failed)


def test_a_full_disk_is_a_clear_error_and_the_other_shards_go_on(on_sqlite: MakeRound, seed: int) -> None:
    at = on_sqlite(f"{seed}/full", SHARDS)
    assert end(start(publish, at.chapter(0, 3), 30, SMALL_DISK_BYTES)) == 0
    check_failure(at, 0, "store_failed", "shard-00.db: ")
    assert any(answer.outcome == "done" for answer in answers_of(read_history(at.history), 0))
    finish(at)


@contextmanager
def damaged(file: Path) -> Iterator[None]:
    """All pages but the first are noise for a while."""
    good = file.read_bytes()
    file.write_bytes(good[:4096] + b"\x5a" * (len(good) - 4096))
    try:
        yield
    finally:
        file.write_bytes(good)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_damaged_page_is_a_clear_error_and_the_other_shards_go_on(
    on_sqlite: MakeRound, seed: int, shard: int
) -> None:
    at = on_sqlite(f"{seed}/damaged", SHARDS)
    tell(at.chapter(0, 50))
    with damaged(Path(at.store) / f"shard-{shard:02}.db"):
        publish(at.chapter(100, 3), 0)
    check_failure(at, shard, "store_damaged", f"shard-{shard:02}.db is damaged")
    finish(at)
