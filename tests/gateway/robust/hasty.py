"""A server with a mistake, to see that the tests would find it: it acknowledges a batch before it has committed it.

    python -m tests.gateway.robust.hasty serve ...

The commit of a batch is made when the next one begins, a moment later.
"""

import time
from collections import defaultdict
from pathlib import Path
from threading import Lock
from typing import Any

from conjoin.cli.main import main
from conjoin.store.sqlite.shard import SqliteShard, SqliteSnapshot

LATE_S = 0.03
_pending: dict[Path, Any] = {}
_turns: dict[Path, Lock] = defaultdict(Lock)
_begin, _commit = SqliteShard.begin, SqliteSnapshot.commit


def _hasty_commit(self: SqliteSnapshot, changes: Any) -> bool:
    self.abandon()
    _pending[self._file] = changes
    return True


def _late_begin(self: SqliteShard, *, locked: bool = False, **wanted: Any) -> SqliteSnapshot:
    with _turns[self.file]:
        if self.file in _pending:
            time.sleep(LATE_S)
            _commit(_begin(self), _pending.pop(self.file))
        return _begin(self, locked=locked, **wanted)


if __name__ == "__main__":
    SqliteShard.begin, SqliteSnapshot.commit = _late_begin, _hasty_commit  # type: ignore[method-assign]
    main()
