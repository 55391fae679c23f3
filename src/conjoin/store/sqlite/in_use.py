"""Who works on a data directory: a lock that a crash frees, and the names of those who hold it.

Everybody who writes holds `conjoin.lock` shared; who needs the store alone holds it exclusively. The operating system
lets go of it when its holder ends, however that happens. The lines in the file only name the holders.
"""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path

from conjoin.errors import StoreInUse
from conjoin.store.sqlite.data_folder import LOCK, system_errors

_MOST_NAMED = 5


@contextmanager
def folder_held(folder: Path, task: str, *, alone: bool = False) -> Iterator[None]:
    """Raises StoreInUse at once when others are in the way. `task` is what others are told that we do."""
    try:
        file = FileIO(folder / LOCK, "a+")
    except OSError:
        if alone:
            with system_errors(folder):
                raise
        # Where nothing can be written, nobody has to be kept from writing.
        yield
        return
    with closing(file):
        if not _locked(file, alone):
            raise StoreInUse(in_use(str(folder), _holders(file), alone=alone))
        _note(file, task)
        yield
        if alone:
            file.truncate(0)


def in_use(place: str, holders: list[str], *, alone: bool) -> str:
    named = "; ".join(holders[:_MOST_NAMED]) or "another process"
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


def _note(file: FileIO, task: str) -> None:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    # Only for people: a full disk does not keep anybody from holding the lock.
    with suppress(OSError):
        file.write(f"{os.getpid()}\t{socket.gethostname()}\t{since}\t{task}\n".encode())


def _holders(file: FileIO) -> list[str]:
    file.seek(0)
    lines = [line.split("\t") for line in file.read().decode(errors="replace").splitlines()]
    return [
        f"{task} (process {pid} on {host}, since {since})"
        for pid, host, since, task in (line for line in lines if len(line) == 4)
        if host != socket.gethostname() or Path(f"/proc/{pid}").exists() or not Path("/proc/self").exists()
    ]
