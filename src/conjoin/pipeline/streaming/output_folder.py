"""The folder of a stream's outputs: files are staged in it, and moved into their tables when their batch is committed.

    <out>/_writing/<run>/<table>/part-*.parquet    of a batch that is not committed; readers of tables pass over it
    <out>/<table>/part-*.parquet                   of committed ones

    <out>/_stream                                  the name of the state whose results these are

Where a driver dies between a commit and the moves, they are done when the state is opened again.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from pyarrow import fs

from conjoin.errors import InputError
from conjoin.fault_points import passing
from conjoin.pipeline.correlate.writing.parquet_sink import WrittenFile
from conjoin.pipeline.correlate.writing.run_folder import STAGING
from conjoin.pipeline.streaming.bucket_fold import OUTPUTS
from conjoin.pipeline.streaming.manifest import IDENTITY, StateFolder, number_of, read_text

_AT_ONCE = 16


class OutputFolder:
    """`path` on a file system that pyarrow knows."""

    def __init__(self, filesystem: fs.FileSystem, path: str) -> None:
        self.filesystem = filesystem
        self.path = path.rstrip("/")

    def belong_to(self, state: StateFolder) -> None:
        """Raises if these are the results of another state: each would sweep what the other has staged."""
        place = f"{self.path}/{IDENTITY}"
        owner = read_text(self.filesystem, place)
        if owner == state.identity:
            return
        if owner:
            told = f"{self.path} has the results of another state than {state.path}"
            raise InputError([f"{told}: give each a folder of its own, or remove what is there"])
        self.filesystem.create_dir(self.path)
        with self.filesystem.open_output_stream(place) as stream:
            stream.write(state.identity.encode())

    def staged(self, run: str) -> str:
        return f"{self.path}/{STAGING}/{run}"

    def stage(self, run: str) -> None:
        for table in OUTPUTS:
            self.filesystem.create_dir(f"{self.staged(run)}/{table}")

    def publish(self, run: str, files: Mapping[str, list[WrittenFile]]) -> None:
        """Everything of a committed batch appears; files that have been moved stay."""
        moves = []
        for table, some in files.items():
            self.filesystem.create_dir(f"{self.path}/{table}")
            staged = self._names(f"{STAGING}/{run}/{table}")
            moves += [
                (f"{self.staged(run)}/{table}/{file.name}", f"{self.path}/{table}/{file.name}")
                for file in some
                if file.name in staged
            ]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda move: self.filesystem.move(*move), moves))
        passing("batch_moved")
        self._remove(f"{STAGING}/{run}")

    def sweep(self, last: int) -> None:
        """What batches up to the last one have staged and not committed."""
        for run in self._names(STAGING):
            if number_of(run) <= last:
                self._remove(f"{STAGING}/{run}")

    def _names(self, inside: str) -> set[str]:
        where = fs.FileSelector(f"{self.path}/{inside}", allow_not_found=True)
        return {info.base_name for info in self.filesystem.get_file_info(where)}

    def _remove(self, name: str) -> None:
        [info] = self.filesystem.get_file_info([f"{self.path}/{name}"])
        if info.type == fs.FileType.Directory:
            self.filesystem.delete_dir(info.path)
