"""The folder that an export writes to: what is being written is hidden, and appears by one rename when it is whole.

    _writing/                          what this run has not finished; the next run removes it
    _snapshots/messages/8/             a changing table as it was at one instant
    messages -> _snapshots/messages/8  a link, replaced in one step; the snapshot before stays for who reads it yet
    events/shard=0/versions=41-97/     the events of these commits, named by them
    _manifest.json                     what the last finished run left, all tables together

Which events are there follows from the names of the folders alone, so no second record of it can disagree. Spark and
most other tools pass over names that begin with an underscore.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from uuid import uuid4

from conjoin.errors import InputError

PARQUET, DELTA = "parquet", "delta"
EVENTS = "events"
MANIFEST = "_manifest.json"
_LOCK, _WRITING, _SNAPSHOTS, _COMMIT = "_lock", "_writing", "_snapshots", "_commit.json"


class Committed(NamedTuple):
    """The newest events of a shard that are there: up to which commit, and how what it is known by begins."""

    last: int
    fingerprint: str


class ExportTarget:
    """Parquet, for one run at a time, in a folder that was opened for it. Delta overrides how tables appear."""

    def __init__(self, folder: Path, parts: Path) -> None:
        self.folder = folder
        self._parts = parts

    def part(self, table: str) -> Path:
        """Where a table is written before it appears."""
        return self._parts / table

    def events(self) -> dict[int, Committed]:
        """By shard."""
        found: dict[int, Committed] = {}
        for run in self._event_folders():
            shard, last = _shard_and_last(run)
            if shard not in found or found[shard].last < last:
                found[shard] = Committed(last, _read(run / _COMMIT)["fingerprint"])
        return found

    def add_events(self, shard: int, versions: tuple[int, int], commit: Mapping[str, Any]) -> None:
        """The events of one shard in a range of commits. What is there already is never replaced."""
        part = self.part(EVENTS) / f"shard={shard}"
        place = self.folder / EVENTS / part.name / f"versions={versions[0]}-{versions[1]}"
        place.parent.mkdir(parents=True, exist_ok=True)
        _appear(part, place, commit)

    def replace(self, table: str, commit: Mapping[str, Any]) -> None:
        """A new snapshot in place of the one before, which stays until the next."""
        link, kept = self.folder / table, self.folder / _SNAPSHOTS / table
        kept.mkdir(parents=True, exist_ok=True)
        numbers = [int(path.name) for path in kept.iterdir()]
        place = kept / str(max(numbers, default=0) + 1)
        before = link.resolve() if link.is_symlink() else None
        _appear(self.part(table), place, commit)
        fresh = self.part(f"{table}.link")
        fresh.symlink_to(place.relative_to(self.folder))
        fresh.replace(link)
        for old in kept.iterdir():
            if old.resolve() not in (before, place.resolve()):
                shutil.rmtree(old)

    def write_manifest(self, at: str) -> dict[str, Any]:
        """Everything that is there, with its rows. Written last: whoever reads it finds all that it names."""
        tables = {link.name: [link.resolve()] for link in self.folder.iterdir() if link.is_symlink()}
        if events := sorted(self._event_folders(), key=_shard_and_last):
            tables[EVENTS] = events
        manifest = {"exported_at": at, "tables": {name: self._listed(tables[name]) for name in sorted(tables)}}
        write_json(self.part(MANIFEST), self.folder / MANIFEST, manifest)
        return manifest

    def _listed(self, folders: Iterable[Path]) -> dict[str, Any]:
        home = self.folder.resolve()
        listed = [(str(folder.resolve().relative_to(home)), _read(folder / _COMMIT)["rows"]) for folder in folders]
        return {"rows": sum(rows for _, rows in listed), "folders": [folder for folder, _ in listed]}

    def _event_folders(self) -> Iterator[Path]:
        return (self.folder / EVENTS).glob("shard=*/versions=*")


@contextmanager
def opened_folder(folder: Path, format_: str = PARQUET) -> Iterator[Path]:
    """A place for what is not finished. Nobody else exports to the folder meanwhile; the lock goes with the process."""
    if folder.exists() and not folder.is_dir():
        raise InputError([f"{folder} is no folder"])
    if folder.exists() and any(folder.iterdir()) and not (folder / _LOCK).exists():
        raise InputError([f"{folder} holds something that is no export: give an empty folder or a new one"])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError([f"another export writes to {folder} just now"]) from None
        _check_format(folder, lock, format_)
        shutil.rmtree(folder / _WRITING, ignore_errors=True)
        # The JVM of a run that was killed may go on for a moment: it must not write into the folder of the next.
        parts = folder / _WRITING / uuid4().hex
        parts.mkdir(parents=True)
        try:
            yield parts
        finally:
            shutil.rmtree(folder / _WRITING, ignore_errors=True)


def _check_format(folder: Path, lock: TextIO, format_: str) -> None:
    """The lock says what is in the folder; before there were others it was Parquet, and the file was empty."""
    lock.seek(0)
    found = lock.read()
    if not found and len(list(folder.iterdir())) == 1:
        lock.write(format_)
    elif (found or PARQUET) != format_:
        raise InputError([f"--format: {folder} holds an export as {found or PARQUET}: give another folder"])


def write_json(part: Path, file: Path, content: Mapping[str, Any]) -> None:
    """In one step: written aside, and renamed when it is on the disk."""
    part.write_text(json.dumps(content, indent=1), encoding="utf-8")
    settle([part])
    part.replace(file)


def _appear(part: Path, place: Path, commit: Mapping[str, Any]) -> None:
    (part / _COMMIT).write_text(json.dumps(commit), encoding="utf-8")
    # On the disk before it can be seen: a power cut, too, leaves the whole folder or nothing.
    settle(path for path in part.rglob("*") if path.is_file())
    part.rename(place)
    settle([place.parent])


def settle(paths: Iterable[Path]) -> None:
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _read(path: Path) -> dict[str, Any]:
    its: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return its


def _shard_and_last(run: Path) -> tuple[int, int]:
    """Of `shard=0/versions=41-97`."""
    return int(run.parent.name.partition("=")[2]), int(run.name.rpartition("-")[2])
