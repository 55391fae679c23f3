"""Rehearsals: what an operation on messages of the inbox would come to. Rows are looked at, and nothing is changed."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from conjoin.kernel.inbox import InboxMessage, InboxSettings, operate
from conjoin.kernel.inbox.operations import Operation, OperationRefused
from conjoin.runtime.inbox.placement import moving_group
from conjoin.runtime.inbox.rows import read_row
from conjoin.store.rows import InboxRow

Answer = InboxMessage | OperationRefused


class Selected(NamedTuple):
    """What an operation on many messages came to: how many were changed, and how many refused, by code."""

    changed: int
    refused: Mapping[str, int]


def counted(answers: Iterable[Answer]) -> Selected:
    codes = [answer.code if isinstance(answer, OperationRefused) else None for answer in answers]
    return Selected(codes.count(None), dict(Counter(code for code in codes if code is not None)))


class Rehearsal(NamedTuple):
    operation: Operation
    now: int
    settings: InboxSettings

    def answers(self, keys: Sequence[int], rows: Iterable[InboxRow]) -> list[Answer]:
        """In the order of the keys. One that moves between shards is there twice, and counts where it arrives."""
        found: dict[int, InboxRow] = {}
        for row in rows:
            if row.key not in found or row.group_key != moving_group(row.key):
                found[row.key] = row
        return [self._answer(key, found.get(key)) for key in keys]

    def _answer(self, key: int, row: InboxRow | None) -> Answer:
        if row is None:
            return OperationRefused("not_found", f"there is no message {key} in the inbox")
        return operate(read_row(row).message, self.operation, self.now, self.settings)
