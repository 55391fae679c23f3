"""Many messages from a file: one commit per thousand of a shard, and a closing table of what became of them.

Messages with the same correlation key are on the same shard, so they are published in the order of the file. Whatever
interrupts it, the same command continues where it stopped: no line is taken twice.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from uuid import uuid4

import typer

from conjoin.cli.invocation import CommandCall
from conjoin.cli.printing import complain
from conjoin.cli.progress import progress
from conjoin.cli.reading import opened
from conjoin.cli.spark.closing import print_verdicts
from conjoin.errors import ConjoinError, InputError, OutcomeUnknown
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.file_progress import FileProgress
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.ingest.mapping import SPELLINGS, unknown_field
from conjoin.runtime.ingest.rows import Unusable, json_object, message_of
from conjoin.runtime.run.batches import Batch, Commit, Reply
from conjoin.runtime.run.isolation import carried_out
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store import tables as t

if TYPE_CHECKING:
    from conjoin.client import Client, Publication

AT_ONCE = 1_000
BAD_LINES = 1
_REPORTED_EVERY = 10_000
_NAME_LENGTH = 16

Counts = Counter[tuple[str, str]]


class MessageLine(NamedTuple):
    number: int
    message: NewMessage


def _messages(lines: Iterable[bytes], file: str, bad: Counter[str]) -> Iterator[MessageLine]:
    """One JSON object per line; blank lines are nothing. What is no message is reported, counted and skipped."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json_object(line)
            # An unknown field is an error here.
            strange = next((name for name in row if name not in SPELLINGS), None)
            if strange is not None:
                raise Unusable("bad_type", unknown_field(strange))
            yield MessageLine(number, message_of(row))
        except Unusable as why:
            bad["lines"] += 1
            complain(f"{file}:{number}: {why}")


class Publisher:
    """Collects messages by shard and publishes them in batches."""

    def __init__(self, broker: Broker, run: str, file: str = "-") -> None:
        self.published = 0
        self.repeated = 0
        """Lines that an earlier run of the same name has taken."""
        self.bad = Counter[str]()
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
                self.bad["lines"] += 1
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


def publish_file(call: CommandCall, broker: Broker, file: Path, run: str | None) -> Counts:
    """Publishes every line that is a message, and answers what became of them. Exit code 1 if one was none."""
    began = perf_counter()
    with opened(str(file), "--file") as lines:
        publisher = Publisher(broker, run or _name_of(lines), str(file))
        if publisher.progress.is_done:
            publisher.progress.finish()
            complain(f"{file}: all of it was published by the run before this one; run it again to publish it again")
            return Counts()
        try:
            with progress() as step:
                reported = 0
                for line in _messages(lines, str(file), publisher.bad):
                    publisher.add(line)
                    if publisher.published >= reported + _REPORTED_EVERY:
                        reported = publisher.published
                        step(f"{reported:,} messages published")
                publisher.flush()
            publisher.progress.finish()
            found = publisher.verdicts()
            _print_counts(call, found, _figures(publisher), perf_counter() - began)
        except (ConjoinError, KeyboardInterrupt) as error:
            _print_how_far(call, publisher, file, error)
            raise
    if publisher.bad:
        raise typer.Exit(BAD_LINES)
    return found


def publish_through(call: CommandCall, client: "Client", file: Path, run: str | None) -> Counts:
    """Through a server, which takes lines in bulk. A message without an id gets one; where it stopped is not kept."""
    from conjoin.cli.engine.through_server import publication

    if run is not None:
        raise InputError(["--resume: a server keeps no note of a file: give every line an id, and publish it again"])
    began, bad, found = perf_counter(), Counter[str](), Counts()
    with opened(str(file), "--file") as lines:
        messages: Iterator[Publication] = (publication(it.message) for it in _messages(lines, str(file), bad))
        for result in client.publish_many(messages):
            if result.error:
                bad["refused"] += 1
                complain(f"{file}: {result.message.name} {result.message.key}: {result.error}")
            else:
                found[result.verdict, result.reason] += 1
    _print_counts(call, found, {"published": found.total(), "bad_lines": bad.total()}, perf_counter() - began)
    if bad:
        raise typer.Exit(BAD_LINES)
    return found


def _print_how_far(call: CommandCall, publisher: Publisher, file: Path, error: BaseException) -> None:
    taken, run = publisher.published + publisher.repeated, publisher.progress.run
    if call.as_json:
        call.print({**_figures(publisher), "complete": False, "not_taken": publisher.waiting, "resume": run}, "")
    perhaps = ", some of them perhaps taken" if isinstance(error, OutcomeUnknown) else ""
    complain(
        f"{file}: interrupted after line {publisher.read_up_to:,}: {taken:,} messages taken,"
        f" {publisher.bad.total():,} bad lines skipped, {publisher.waiting:,} read but not taken{perhaps},"
        " the lines after it not tried"
    )
    complain(f"go on with: conjoin message publish --file {file} --resume {run} (what was taken is not taken twice)")


def _figures(publisher: Publisher) -> dict[str, int]:
    repeated = {"taken_before": publisher.repeated} if publisher.repeated else {}
    return {"published": publisher.published, **repeated, "bad_lines": publisher.bad.total()}


def _print_counts(call: CommandCall, found: Counts, figures: dict[str, int], seconds: float) -> None:
    bad, repeated = figures["bad_lines"], figures.get("taken_before", 0)
    before = f", {repeated:,} taken before" if repeated else ""
    skipped = f", {bad:,} bad line{'s' if bad > 1 else ''} skipped" if bad else ""
    line = f"{figures['published']:,} messages published in {seconds:.1f} s{before}{skipped}"
    print_verdicts(call, found, figures, line)


def _name_of(lines: BinaryIO) -> str:
    """Of what the file holds, so that the same file finds its run again; what can be read only once has a new one."""
    if not lines.seekable():
        return uuid4().hex[:_NAME_LENGTH]
    name = hashlib.file_digest(lines, "sha256").hexdigest()[:_NAME_LENGTH]  # type: ignore[arg-type]
    lines.seek(0)
    return name
