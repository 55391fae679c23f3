"""A server on a disk whose sync fails: a commit of SQLite is there, and told as failed.

    FAILING_SYNC=FILE python -m tests.gateway.robust.failing_sync serve ...

FILE contains how many of the next commits fail so; without it none does.
"""

import os
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from conjoin.cli.main import main

VARIABLE = "FAILING_SYNC"


class Connection(sqlite3.Connection):
    def execute(self, statement: str, *parameters: Any) -> sqlite3.Cursor:
        done = super().execute(statement, *parameters)
        if statement == "commit" and _is_next():
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
            raise error
        return done


def _is_next() -> bool:
    file = Path(os.environ[VARIABLE])
    left = int(file.read_text()) if file.exists() else 0
    if left:
        file.write_text(str(left - 1))
    return left > 0


if __name__ == "__main__":
    sqlite3.connect = partial(sqlite3.connect, factory=Connection)
    main()
