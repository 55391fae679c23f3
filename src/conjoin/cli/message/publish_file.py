"""Many messages from a file: one commit per thousand of a shard, and a closing table of what became of them.

Messages with the same correlation key are on the same shard, so they are published in the order of the file. Whatever
interrupts it, the same command continues where it stopped: no line is taken twice.
"""

import hashlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, BinaryIO
from uuid import uuid4

import typer
from rich.console import Console

from conjoin.cli.message.lines import BadLine, MessageLine, read_lines
from conjoin.cli.printing import complain, tell
from conjoin.cli.progress import Step, progress
from conjoin.cli.spark.closing import WIDE, verdict_table
from conjoin.errors import ConjoinError, InputError, OutcomeUnknown
from conjoin.kernel.verdicts.verdicts import REASONS
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.file_progress import FileProgress
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.run.batches import Batch, Commit, Reply
from conjoin.runtime.run.carriers.careful import carried_out
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store import tables as t

if TYPE_CHECKING:
    from conjoin.client import Client, Publication

AT_ONCE = 1_000
BAD_LINES = 1
_TOLD_EVERY = 10_000
_NAME_LENGTH = 16
_CHUNK_BYTES = 1024 * 1024

Counts = Counter[tuple[str, str]]


class Publisher:
    """Collects messages by shard and publishes them in batches."""

    def __init__(self, broker: Broker, run: str, file: str = "-") -> None:
        self.published = 0
        self.repeated = 0
        """Lines that an earlier run of the same name has taken."""
        self.bad = 0
        self.read_up_to = 0
        self.progress = FileProgress(broker.store, run)
        self._file = file
        self._broker = broker
        self._shards = broker.store.facts.shards
        self._waiting: list[list[MessageLine]] = [[] for _ in range(self._shards)]
        self._decided: Counts = Counter()
        self._buffered: list[int] = []

    def add(self, line: MessageLine) -> None:
        self.read_up_to = line.number
        shard = shard_of(line.message.key, self._shards)
        self._waiting[shard].append(line)
        if len(self._waiting[shard]) == AT_ONCE:
            self._publish(shard)

    def flush(self) -> None:
        for shard in range(self._shards):
            self._publish(shard)

    @property
    def waiting(self) -> int:
        """Lines that were read and that no commit is known to have taken."""
        return sum(map(len, self._waiting))

    def verdicts(self) -> Counts:
        """Of all that are published; those that were buffered at first are looked at again."""
        counts = Counter(self._decided)
        for begin in range(0, len(self._buffered), AT_ONCE):
            keys = self._buffered[begin : begin + AT_ONCE]
            counts.update(what for _, what in self._look_up(keys))
        return counts

    def _publish(self, shard: int) -> None:
        lines = self._waiting[shard]
        if not lines:
            return
        for some, done in carried_out(partial(self._run, shard), lines, lambda line, it: line.message is it.item):
            self._waiting[shard] = self._waiting[shard][len(some) :]
            if isinstance(done, Exception):
                self.bad += 1
                complain(f"{self._file}:{some[0].number}: {text_of(done)}")
            else:
                self._note(done.replies)

    def _run(self, shard: int, lines: Sequence[MessageLine]) -> Commit:
        origin = self.progress.origin([line.number for line in lines])
        return self._broker.post.run(shard, Batch([line.message for line in lines], origin=origin))

    def _note(self, replies: Sequence[Reply]) -> None:
        fresh = [reply.key for reply in replies if not reply.repeated]
        self.published += len(fresh)
        self.repeated += len(replies) - len(fresh)
        for key, what in self._look_up(fresh):
            if what[0] == "buffered":
                self._buffered.append(key)
            else:
                self._decided[what] += 1

    def _look_up(self, keys: Sequence[int]) -> Iterator[tuple[int, tuple[str, str]]]:
        for row in self._broker.store.rows(t.MESSAGE, {"key": tuple(keys)}, None, len(keys)) if keys else ():
            yield row.key, (row.verdict, row.reason)


def publish_file(broker: Broker, file: Path, run: str | None, as_json: bool) -> None:
    """Publishes every line that is a message. Exit code 1 if one was not."""
    began = perf_counter()
    with _opened(file) as lines:
        publisher = Publisher(broker, run or _name_of(lines), str(file))
        if publisher.progress.is_done:
            publisher.progress.finish()
            complain(f"{file}: all of it was published by the run before this one; run it again to publish it again")
            return
        try:
            with progress(Console(stderr=True), lambda: None) as step:
                _publish_lines(publisher, lines, str(file), step)
            publisher.progress.finish()
            _close(publisher, perf_counter() - began, as_json)
        except (ConjoinError, KeyboardInterrupt) as error:
            _say_how_far(publisher, file, error, as_json)
            raise
    if publisher.bad:
        raise typer.Exit(BAD_LINES)


def publish_through(client: "Client", file: Path, run: str | None, as_json: bool) -> None:
    """Through a server, which takes lines in bulk. A message without an id gets one; where it stopped is not kept."""
    if run is not None:
        raise InputError(["--resume: a server keeps no note of a file: give every line an id, and publish it again"])
    began, numbers, bad, found = perf_counter(), Counter[str](), 0, Counter[tuple[str, str]]()

    def messages(lines: BinaryIO) -> "Iterator[Publication]":
        for line in read_lines(lines):
            if isinstance(line, BadLine):
                numbers["bad"] += 1
                complain(f"{file}:{line.number}: {line.why}")
            else:
                yield publication(line.message)

    from conjoin.cli.engine.through_server import publication

    with _opened(file) as lines:
        for result in client.publish_many(messages(lines)):
            if result.error:
                bad += 1
                complain(f"{file}: {result.message.name} {result.message.key}: {result.error}")
            else:
                found[result.verdict, result.reason] += 1
    _tell_counts(
        found, {"published": found.total(), "bad_lines": bad + numbers["bad"]}, perf_counter() - began, as_json
    )
    if bad + numbers["bad"]:
        raise typer.Exit(BAD_LINES)


def _publish_lines(publisher: Publisher, lines: BinaryIO, name: str, step: Step) -> None:
    told = 0
    for line in read_lines(lines):
        if isinstance(line, BadLine):
            publisher.bad += 1
            complain(f"{name}:{line.number}: {line.why}")
            continue
        publisher.add(line)
        if publisher.published >= told + _TOLD_EVERY:
            told = publisher.published
            step(f"{told:,} messages published")
    publisher.flush()


def _say_how_far(publisher: Publisher, file: Path, error: BaseException, as_json: bool) -> None:
    taken, run = publisher.published + publisher.repeated, publisher.progress.run
    if as_json:
        tell({**_counted(publisher), "complete": False, "not_taken": publisher.waiting, "resume": run}, "", as_json)
    perhaps = ", some of them perhaps taken" if isinstance(error, OutcomeUnknown) else ""
    complain(
        f"{file}: interrupted after line {publisher.read_up_to:,}: {taken:,} messages taken, {publisher.bad:,} bad"
        f" lines skipped, {publisher.waiting:,} read but not taken{perhaps}, the lines after it not tried"
    )
    complain(f"go on with: conjoin message publish --file {file} --resume {run} (what was taken is not taken twice)")


def _counted(publisher: Publisher) -> dict[str, int]:
    repeated = {"taken_before": publisher.repeated} if publisher.repeated else {}
    return {"published": publisher.published, **repeated, "bad_lines": publisher.bad}


def _close(publisher: Publisher, seconds: float, as_json: bool) -> None:
    _tell_counts(publisher.verdicts(), _counted(publisher), seconds, as_json)


def _tell_counts(found: Counts, counted: dict[str, int], seconds: float, as_json: bool) -> None:
    known = [(verdict, reason) for verdict, reasons in REASONS.items() for reason in reasons]
    counts = {what: found[what] for what in (*known, *sorted(found)) if found[what]}
    if as_json:
        told = [{"verdict": verdict, "reason": reason, "count": count} for (verdict, reason), count in counts.items()]
        tell({**counted, "verdicts": told}, "", as_json)
        return
    console = Console()
    if counts:
        console.print(verdict_table(counts, console.width >= WIDE))
    bad, repeated = counted["bad_lines"], counted.get("taken_before", 0)
    before = f", {repeated:,} taken before" if repeated else ""
    skipped = f", {bad:,} bad line{'s' if bad > 1 else ''} skipped" if bad else ""
    console.print(f"{counted['published']:,} messages published in {seconds:.1f} s{before}{skipped}", highlight=False)


def _name_of(lines: BinaryIO) -> str:
    """Of what the file holds, so that the same file finds its run again; what can be read only once has a new one."""
    if not lines.seekable():
        return uuid4().hex[:_NAME_LENGTH]
    content = hashlib.sha256()
    while chunk := lines.read(_CHUNK_BYTES):
        content.update(chunk)
    lines.seek(0)
    return content.hexdigest()[:_NAME_LENGTH]


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
