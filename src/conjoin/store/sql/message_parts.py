"""Parts of the messages: by them a name or a correlation key is looked up among very many, and a commit stays cheap.

A message that comes later has a larger key. The keys are cut into parts of 32,768; the index of correlation keys begins
with the part, so that all that is written lies together. A search looks into each part: some microseconds for each.
"""

from collections.abc import Iterable
from typing import Final

from conjoin.store.rows import MessagePartRow, MessageRow

PART_BITS: Final = 15
BEGINNING: Final = 100
"""An index holds so many characters of a name or a correlation key."""
FILL: Final = (
    f"insert into message_part select distinct '', key >> {PART_BITS} from message where true on conflict do nothing",
    f"insert into message_part select distinct substr(name, 1, {BEGINNING}), key >> {PART_BITS} from message"
    " where name <> '' on conflict do nothing",
)
"""For messages that were loaded in bulk."""
_MOST_KNOWN = 10_000


class KnownParts:
    """Those that are written already: parts are never removed. For one shard of one process."""

    def __init__(self) -> None:
        self._known: set[tuple[str, int]] = set()

    def missing(self, messages: Iterable[MessageRow]) -> list[MessagePartRow]:
        found = {((row.name or "")[:BEGINNING], row.key >> PART_BITS) for row in messages}
        fresh = found - self._known
        if not fresh:
            return []
        return [MessagePartRow(*it) for it in sorted(fresh | {("", part) for _, part in fresh} - self._known)]

    def note(self, written: Iterable[MessagePartRow]) -> None:
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known.update(written)
