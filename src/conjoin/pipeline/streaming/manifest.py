"""Manifests: what a state is after a batch, as one file. That it exists is the commit of the batch, and the only one.

    <state>/_committed/000000000042.json     each bucket's file, how far time has come, what was written
    <state>/buckets/000000000042-*.parquet   a bucket's rows; a file is never changed, and goes when nobody names it
    <state>/_stream                          a name that no other state has

A batch that dies before its manifest has left files that nobody names. Of two that commit one number the second is
refused, on a file system of this machine; on an object store two that look at the same time do not see each other.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
from pyarrow import fs

from conjoin.errors import InputError
from conjoin.fault_points import passing
from conjoin.pipeline.correlate.fold.counts import PartitionCounts
from conjoin.pipeline.correlate.writing.parquet_sink import WrittenFile

COMMITTED, BUCKETS = "_committed", "buckets"
IDENTITY = "_stream"
"""Names a state; its folder of results has the same, so that no other state writes there."""
_KEPT = 3
"""So many manifests stay, with the files they name: somebody may be reading them."""
_VERSION = 1


class Held(msgspec.Struct, array_like=True, frozen=True):
    """How many rows of each kind; `pending` ones are later than time has come."""

    open: int = 0
    buffered: int = 0
    locks: int = 0
    ids: int = 0
    pending: int = 0

    def __add__(self, other: "Held") -> "Held":
        return Held(*map(sum, zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)))


class BucketFile(msgspec.Struct, array_like=True, frozen=True):
    """`due`: the instant at which something happens in it although nothing arrives. `unpacked`: its bytes in memory."""

    name: str
    rows: int
    bytes: int
    due: int
    held: Held
    unpacked: int = 0


class StreamShape(msgspec.Struct, frozen=True):
    """What a state is made for: it cannot change. `columns` are those of `messages`, with their types."""

    buckets: int
    columns: dict[str, str]
    others: tuple[str, ...]


class BatchManifest(msgspec.Struct):
    """`as_of` and `latest` in microseconds since 1970: up to where everything is decided, and the latest row seen."""

    sequence: int
    shape: StreamShape
    policies: str
    version: int = _VERSION
    batch: int | None = None
    checkpoint: str = ""
    as_of: int | None = None
    latest: int | None = None
    starts: list[dict[str, Any]] = []
    buckets: dict[int, BucketFile] = {}
    run: str = ""
    files: dict[str, list[WrittenFile]] = {}
    """What the batch has written of each output, staged under the name of its `run`."""
    counts: PartitionCounts = msgspec.field(default_factory=PartitionCounts)
    seconds: float = 0.0
    touched: int = 0
    closings_ignored: int = 0
    rows: int = 0
    total_rows: int = 0
    """All rows that ever came in, and of the outputs all that were ever written."""
    total_out: dict[str, int] = {}

    def held(self) -> Held:
        return sum((file.held for file in self.buckets.values()), Held())


class StateFolder:
    """`path` on a file system that pyarrow knows."""

    def __init__(self, filesystem: fs.FileSystem, path: str) -> None:
        self.filesystem = filesystem
        self.path = path.rstrip("/")

    @property
    def bucket_folder(self) -> str:
        return f"{self.path}/{BUCKETS}"

    def make(self) -> None:
        for name in (COMMITTED, BUCKETS):
            self.filesystem.create_dir(f"{self.path}/{name}")

    @cached_property
    def identity(self) -> str:
        """Made with the state: one that was removed and begins anew is another."""
        place = f"{self.path}/{IDENTITY}"
        found = read_text(self.filesystem, place)
        if found:
            return found
        made = uuid4().hex
        with self.filesystem.open_output_stream(place) as stream:
            stream.write(made.encode())
        return made

    def latest(self) -> BatchManifest | None:
        numbers = self._numbers()
        return self.read(max(numbers)) if numbers else None

    def kept(self) -> Iterator[BatchManifest]:
        """Those that a sweep leaves; the last comes last."""
        return map(self.read, sorted(self._numbers())[-_KEPT:])

    def read(self, sequence: int) -> BatchManifest:
        place = self._manifest(sequence)
        with self.filesystem.open_input_stream(place) as stream:
            content = stream.read()
        try:
            found = msgspec.json.decode(content, type=BatchManifest)
        except msgspec.DecodeError as error:
            raise InputError([f"{place} is no manifest of a state: {error}"]) from None
        if found.version > _VERSION:
            raise InputError([f"{place} was written by a newer Conjoin"])
        return found

    def commit(self, manifest: BatchManifest) -> None:
        """Raises where another batch has taken the number: two streams work on one state."""
        passing("batch_written")
        place = self._manifest(manifest.sequence)
        content = msgspec.json.encode(manifest)
        taken = InputError([f"another stream has committed batch {manifest.sequence} to {self.path}: end one of them"])
        staged = f"{self.path}/{COMMITTED}/_{uuid4().hex}"
        with self.filesystem.open_output_stream(staged) as stream:
            stream.write(content)
        if isinstance(self.filesystem, fs.LocalFileSystem):
            _synced(staged)
            try:
                # Unlike a rename it fails where there is one.
                os.link(staged, place)
            except FileExistsError:
                raise taken from None
            finally:
                Path(staged).unlink()
            _synced(str(Path(place).parent))
        elif self._exists(place):
            raise taken
        else:
            self.filesystem.move(staged, place)
        passing("batch_committed")

    def sweep(self, everything: bool = False) -> None:
        """Removes old manifests and the files that only they name; with `everything` what dead batches have left, too.
        Files of the batch that comes next may belong to somebody who is at it."""
        numbers = sorted(self._numbers())
        gone = numbers[:-_KEPT]
        if not gone and not everything:
            return
        named = {file.name for number in numbers[-_KEPT:] for file in self.read(number).buckets.values()}
        if everything:
            old = {name for name in self._names(BUCKETS) if number_of(name) <= max(numbers, default=-1)}
        else:
            old = {file.name for number in gone for file in self.read(number).buckets.values()}
        for name in sorted(old - named):
            self._remove(f"{self.bucket_folder}/{name}")
        # Last: a sweep that dies is done again.
        for number in gone:
            self._remove(self._manifest(number))
        for name in self._names(COMMITTED) if everything else ():
            if name.startswith("_"):
                self._remove(f"{self.path}/{COMMITTED}/{name}")

    def _numbers(self) -> list[int]:
        names = (name.removesuffix(".json") for name in self._names(COMMITTED))
        return [int(name) for name in names if name.isdigit()]

    def _names(self, inside: str) -> list[str]:
        where = fs.FileSelector(f"{self.path}/{inside}", allow_not_found=True)
        return [info.base_name for info in self.filesystem.get_file_info(where)]

    def _manifest(self, sequence: int) -> str:
        return f"{self.path}/{COMMITTED}/{sequence:012}.json"

    def _exists(self, path: str) -> bool:
        [info] = self.filesystem.get_file_info([path])
        return bool(info.type != fs.FileType.NotFound)

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self.filesystem.delete_file(path)


def read_text(filesystem: fs.FileSystem, path: str) -> str | None:
    """Of a small file; None: there is none."""
    try:
        with filesystem.open_input_stream(path) as stream:
            return bytes(stream.read()).decode()
    except FileNotFoundError:
        return None


def number_of(name: str) -> int:
    """Of the batch that wrote a file or staged a run."""
    number = name.partition("-")[0]
    return int(number) if number.isdigit() else -1


def _synced(path: str) -> None:
    """A commit outlives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
