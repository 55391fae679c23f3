"""Many messages from a file: a commit for each thousand of a shard, and a closing table of what became of them.

Messages with the same correlation key are on the same shard, so they are published in the order of the file.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import BinaryIO

import typer
from rich.console import Console

from conjoin.cli.closing import WIDE, verdict_table
from conjoin.cli.message_lines import BadLine, read_lines
from conjoin.cli.printing import complain, tell
from conjoin.cli.progress import Step, progress
from conjoin.errors import InputError
from conjoin.kernel.correlation.verdicts import REASONS
from conjoin.runtime.batches import Batch
from conjoin.runtime.broker import Broker
from conjoin.runtime.messages import NewMessage
from conjoin.runtime.placement import shard_of
from conjoin.store import tables as t

AT_ONCE = 1_000
BAD_LINES = 1
_TOLD_EVERY = 10_000

Counts = Counter[tuple[str, str]]


class Publisher:
    """Collects messages by shard and publishes them in batches."""

    def __init__(self, broker: Broker) -> None:
        self.published = 0
        self._broker = broker
        self._shards = broker.store.facts.shards
        self._waiting: list[list[NewMessage]] = [[] for _ in range(self._shards)]
        self._decided: Counts = Counter()
        self._buffered: list[int] = []

    def add(self, message: NewMessage) -> None:
        shard = shard_of(message.key, self._shards)
        self._waiting[shard].append(message)
        if len(self._waiting[shard]) == AT_ONCE:
            self._publish(shard)

    def flush(self) -> None:
        for shard in range(self._shards):
            self._publish(shard)

    def verdicts(self) -> Counts:
        """Of all that are published; those that were buffered at first are looked at again."""
        counts = Counter(self._decided)
        for begin in range(0, len(self._buffered), AT_ONCE):
            keys = self._buffered[begin : begin + AT_ONCE]
            counts.update(what for _, what in self._look_up(keys))
        return counts

    def _publish(self, shard: int) -> None:
        messages, self._waiting[shard] = self._waiting[shard], []
        if not messages:
            return
        replies = self._broker.post.run(shard, Batch(messages)).replies
        self.published += len(messages)
        for key, what in self._look_up([reply.key for reply in replies]):
            if what[0] == "buffered":
                self._buffered.append(key)
            else:
                self._decided[what] += 1

    def _look_up(self, keys: Sequence[int]) -> Iterator[tuple[int, tuple[str, str]]]:
        for row in self._broker.store.rows(t.MESSAGE, {"key": tuple(keys)}, None, len(keys)):
            yield row.key, (row.verdict, row.reason)


def publish_file(broker: Broker, file: Path, as_json: bool) -> None:
    """Publishes every line that is a message. Exit code 1 if one was not."""
    began = perf_counter()
    publisher = Publisher(broker)
    with _opened(file) as lines, progress(Console(stderr=True), lambda: None) as step:
        bad = _publish_lines(publisher, lines, str(file), step)
    seconds = perf_counter() - began
    _close(publisher, bad, seconds, as_json)
    if bad:
        raise typer.Exit(BAD_LINES)


def _publish_lines(publisher: Publisher, lines: BinaryIO, name: str, step: Step) -> int:
    bad = told = 0
    for line in read_lines(lines):
        if isinstance(line, BadLine):
            bad += 1
            complain(f"{name}:{line.number}: {line.why}")
            continue
        publisher.add(line)
        if publisher.published >= told + _TOLD_EVERY:
            told = publisher.published
            step(f"{told:,} messages published")
    publisher.flush()
    return bad


def _close(publisher: Publisher, bad: int, seconds: float, as_json: bool) -> None:
    found = publisher.verdicts()
    known = [(verdict, reason) for verdict, reasons in REASONS.items() for reason in reasons]
    counts = {what: found[what] for what in known if found[what]}
    if as_json:
        told = [{"verdict": verdict, "reason": reason, "count": count} for (verdict, reason), count in counts.items()]
        tell({"published": publisher.published, "bad_lines": bad, "verdicts": told}, "", as_json)
        return
    console = Console()
    if counts:
        console.print(verdict_table(counts, console.width >= WIDE))
    skipped = f", {bad:,} bad line{'s' if bad > 1 else ''} skipped" if bad else ""
    console.print(f"{publisher.published:,} messages published in {seconds:.1f} s{skipped}", highlight=False)


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    if str(file) == "-":
        yield sys.stdin.buffer
        return
    try:
        lines = file.open("rb")
    except OSError as error:
        raise InputError([f"--file: {file}: {error.strerror}"]) from None
    with lines:
        yield lines
