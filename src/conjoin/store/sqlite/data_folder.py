"""A data directory before any database is opened: is a store there, may one be made there, and who works on it.

Every failure of the file system is an error of ours, in one sentence with what to do about it. Everybody who writes
holds `conjoin.lock` shared; who needs the store alone holds it exclusively. The operating system releases it when its
holder ends, however that happens. The lines in the file only name the holders.
"""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from stat import S_ISDIR

from conjoin.errors import InputError, StoreDamaged, StoreExists, StoreFailed, StoreInUse, StoreMissing

CATALOG = "catalog.db"
LOCK = "conjoin.lock"
FULL = "the disk is full, and nothing of this was written; make room and try again"
BROKEN = "the disk cannot be read or written; look at it and try again"
READ_ONLY = "it may not be written here, and nothing of this was; let this user write the file and its folder"
_OURS = ("catalog.db", "shard-", LOCK)
_HARMLESS = (".", "lost+found")
"""A fresh volume has such files."""
_MOST_NAMED = 3
_MOST_HOLDERS = 5
_LEAST_FREE_BYTES = 64 * 1024
_WORLD = {errno.ENOSPC: FULL, errno.EDQUOT: FULL, errno.EIO: BROKEN}
_PATHS = {
    errno.EACCES: "this user has no right to it; grant that, or name another folder",
    errno.EPERM: "this user has no right to it; grant that, or name another folder",
    errno.EROFS: "it may only be read here; mount the disk for writing, or name another folder",
    errno.ENOTDIR: "a part of this path is a file, not a folder; name another folder",
    errno.EEXIST: "this is a file, and a store needs a folder; name another folder",
    errno.ELOOP: "this path is a loop of symbolic links; name another folder",
    errno.ENAMETOOLONG: "this path is too long; name another folder",
}


def system_error(place: Path, error: OSError) -> InputError | StoreFailed:
    """An error of the operating system about a file, as one of ours."""
    number = error.errno or 0
    if number in _PATHS:
        return InputError([f"{place}: {_PATHS[number]}"])
    return StoreFailed(f"{place}: {_WORLD.get(number) or error.strerror or error}")


@contextmanager
def system_errors(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise system_error(place, error) from error


def is_full(folder: Path) -> bool:
    """SQLite calls some of the ways in which a disk is full an I/O error."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _LEAST_FREE_BYTES


def require_store(folder: Path) -> None:
    """Raises StoreMissing only where a store could be made."""
    with system_errors(folder):
        if not _is_folder(folder):
            raise missing(folder)
        if (folder / CATALOG).is_file():
            return
        if any(folder.glob("shard-*.db")):
            raise StoreDamaged(str(folder / CATALOG), "the file is not there")
        refuse_other_files(folder)
    raise missing(folder)


def make_folder(folder: Path) -> None:
    """For a new store; nothing of others is in it. What a crash left of one that was being made may be."""
    with system_errors(folder):
        _is_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        refuse_other_files(folder)


def refuse_other_files(folder: Path) -> None:
    others = sorted(
        name for name in (file.name for file in folder.iterdir()) if not name.startswith((*_OURS, *_HARMLESS))
    )
    if others or (folder / CATALOG).is_dir():
        named = ", ".join(others[:_MOST_NAMED] or [CATALOG]) + (", ..." if len(others) > _MOST_NAMED else "")
        raise StoreExists(f"{folder} holds no store but other files ({named}): name an empty or a new folder")


def missing(folder: Path) -> StoreMissing:
    return StoreMissing(f"there is no store in {folder}: make one with conjoin store init --data {folder}")


def _is_folder(path: Path) -> bool:
    """False where nothing is. A file is an error, and so is whatever else makes the path useless."""
    try:
        found = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise InputError([f"{path}: this symbolic link leads nowhere; name another folder"]) from None
        return False
    except ValueError:
        raise InputError([f"{str(path)!r} is no name that a folder can have"]) from None
    if not S_ISDIR(found.st_mode):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    return True


@contextmanager
def folder_held(folder: Path, task: str, *, alone: bool = False) -> Iterator[None]:
    """Raises StoreInUse at once when others are in the way, with their `task`."""
    try:
        file = FileIO(folder / LOCK, "a+")
    except OSError:
        if alone:
            with system_errors(folder):
                raise
        # Where nothing can be written, no lock is needed.
        yield
        return
    with closing(file):
        if not _locked(file, alone):
            raise StoreInUse(in_use(str(folder), _holders(file), alone=alone))
        since = datetime.now(UTC).isoformat(timespec="seconds")
        # Only for people: the lock is held on a full disk, too.
        with suppress(OSError):
            file.write(f"{os.getpid()}\t{socket.gethostname()}\t{since}\t{task}\n".encode())
        yield
        if alone:
            file.truncate(0)


def in_use(place: str, holders: list[str], *, alone: bool) -> str:
    named = "; ".join(holders[:_MOST_HOLDERS]) or "another process"
    advice = "stop that first: this needs the store for itself" if alone else "wait until that is done"
    return f"{place} is in use by {named}: {advice}"


def _locked(file: FileIO, alone: bool) -> bool:
    """The first one empties the file, so that only those who may still be there are named."""
    if _try(file, fcntl.LOCK_EX):
        file.truncate(0)
        return alone or _try(file, fcntl.LOCK_SH)
    return not alone and _try(file, fcntl.LOCK_SH)


def _try(file: FileIO, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holders(file: FileIO) -> list[str]:
    file.seek(0)
    lines = [line.split("\t") for line in file.read().decode(errors="replace").splitlines()]
    return [
        f"{task} (process {pid} on {host}, since {since})"
        for pid, host, since, task in (line for line in lines if len(line) == 4)
        if host != socket.gethostname() or Path(f"/proc/{pid}").exists() or not Path("/proc/self").exists()
    ]
