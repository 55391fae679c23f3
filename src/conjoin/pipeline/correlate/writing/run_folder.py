"""The folder of a run: outputs are staged in it and appear together, by one commit that survives a crash.

    <folder>/_writing/<run>/<table>/part-*.parquet     staged; readers of tables pass over what begins with _
    <folder>/_commit.json                              decided: the tables are being moved; whoever comes next goes on
    <folder>/_run.json                                 done: what the run was, its files, rows and counts

A run that dies before `_commit.json` leaves nothing but what the next one sweeps; one that dies after it is finished by
the next one. So two runs never mix, with `overwrite` either. Everything goes through pyarrow's file systems.
"""

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from pyarrow import fs

from conjoin.errors import InputError
from conjoin.fault_points import passing
from conjoin.pipeline.correlate.results import NAMES
from conjoin.pipeline.session.master import is_address

_AT_ONCE = 16
STAGING, DECIDED, DONE = "_writing", "_commit.json", "_run.json"
COMPLETE = "_SUCCESS"
"""In each table, as Spark's own writers leave it: others wait for it."""


def filesystem_of(path: str) -> tuple[fs.FileSystem, str] | None:
    """Where a path or address leads; None where pyarrow knows no way."""
    if not is_address(path):
        return fs.LocalFileSystem(), path
    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(path)
    except (OSError, ValueError, NotImplementedError, ImportError):
        return None
    return found


class RunFolder:
    """`path` on a file system; `run` names the run that writes."""

    def __init__(self, filesystem: fs.FileSystem, path: str, run: str) -> None:
        self.filesystem = filesystem
        self.path = path.rstrip("/")
        self.run = run
        self.staged = f"{self.path}/{STAGING}/{run}"

    def begin(self, overwrite: bool) -> None:
        """Makes room: an earlier commit is finished, what dead runs have left is swept."""
        if self._exists(DECIDED):
            self._finish(self._read(DECIDED))
        held = [name for name in self._names() if name != STAGING]
        if held and not overwrite:
            raise InputError([f"{self.path} is not empty; overwrite replaces what an earlier run wrote there"])
        self._remove(STAGING)
        for table in NAMES:
            self.filesystem.create_dir(f"{self.staged}/{table}")

    def leave_to_spark(self, tables: Collection[str], overwrite: bool) -> None:
        """Makes room for tables that Spark writes one by one: until `told` there is no run in the folder."""
        self.begin(overwrite)
        for name in (STAGING, DONE, *(table for table in NAMES if table not in tables)):
            self._remove(name)

    def told(self, described: dict[str, Any]) -> None:
        """Once Spark has written all of them."""
        self._write(DONE, described | {"run": self.run})

    def commit(self, described: dict[str, Any]) -> None:
        """`described` has the files of each table, and whatever tells of the run. All of them appear."""
        missing = [
            info.path
            for table, files in described["files"].items()
            for info in self.filesystem.get_file_info([f"{self.staged}/{table}/{file['name']}" for file in files])
            if info.type != fs.FileType.File
        ]
        if missing:
            raise InputError([f"{missing[0]} is gone: has another run written to {self.path} at the same time?"])
        self._write(f"{STAGING}/{DECIDED}", described | {"run": self.run})
        passing("run_staged")
        self._move(f"{STAGING}/{DECIDED}", DECIDED)
        passing("run_decided")
        self._finish(self._read(DECIDED))

    def staged_files(self, table: str) -> list[str]:
        """The names of what Spark has staged of a table."""
        return [name for name in self._names(f"{STAGING}/{self.run}/{table}") if not name.startswith((".", "_"))]

    def abandon(self) -> None:
        """Sweeps what is staged, unless it is decided: then the next run on the folder finishes the commit."""
        if not self._exists(DECIDED):
            self._remove(f"{STAGING}/{self.run}")

    def _finish(self, decided: dict[str, Any]) -> None:
        """Every step may have been done before."""
        self._remove(DONE)
        moves = []
        for table in NAMES:
            names = {file["name"] for file in decided["files"].get(table, ())}
            for name in self._names(table):
                if name not in names:
                    self._remove(f"{table}/{name}")
            if table in decided["files"]:
                self.filesystem.create_dir(f"{self.path}/{table}")
                staged = f"{STAGING}/{decided['run']}/{table}"
                moves += [(f"{staged}/{name}", f"{table}/{name}") for name in self._names(staged) if name in names]
            else:
                self._remove(table)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda move: self._move(*move), moves))
        passing("run_moved")
        for table in decided["files"]:
            self.filesystem.open_output_stream(f"{self.path}/{table}/{COMPLETE}").close()
        self._move(DECIDED, DONE)
        self._remove(STAGING)

    def _names(self, inside: str = "") -> list[str]:
        where = fs.FileSelector(f"{self.path}/{inside}".rstrip("/"), allow_not_found=True)
        return [info.base_name for info in self.filesystem.get_file_info(where)]

    def _exists(self, name: str) -> bool:
        [info] = self.filesystem.get_file_info([f"{self.path}/{name}"])
        return bool(info.type != fs.FileType.NotFound)

    def _move(self, one: str, other: str) -> None:
        self.filesystem.move(f"{self.path}/{one}", f"{self.path}/{other}")

    def _remove(self, name: str) -> None:
        [info] = self.filesystem.get_file_info([f"{self.path}/{name}"])
        if info.type == fs.FileType.Directory:
            self.filesystem.delete_dir(info.path)
        elif info.type != fs.FileType.NotFound:
            self.filesystem.delete_file(info.path)

    def _read(self, name: str) -> dict[str, Any]:
        with self.filesystem.open_input_stream(f"{self.path}/{name}") as stream:
            found: dict[str, Any] = msgspec.json.decode(stream.read())
        return found

    def _write(self, name: str, content: dict[str, Any]) -> None:
        with self.filesystem.open_output_stream(f"{self.path}/{name}") as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(content), indent=1))


def read_run(path: str) -> dict[str, Any] | None:
    """What a finished run tells of itself; None where none is."""
    place = filesystem_of(path)
    if place is None:
        return None
    folder = RunFolder(*place, run="")
    return folder._read(DONE) if folder._exists(DONE) and not folder._exists(DECIDED) else None
