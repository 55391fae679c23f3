"""What explanations read of a snapshot: a part of the port. Every answer has a limit, and nothing walks a table."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from conjoin.store.inbox_port import InboxSnapshot
from conjoin.store.rows import EvidenceRow, SubscriptionRow, WaitingRow
from conjoin.store.sql.explaining import NEWEST

_AFTER_ALL = 2**63 - 1
LARGEST_BODY = 64 * 1024
"""Of instances that are looked into for a value."""
_BYTES_EACH = 4 * 1024
"""So much is read in the mean: of 5,000 instances 20 MB, whatever they hold."""
_AT_ONCE = 500
_EXACT = 2


class ValueTexts(NamedTuple):
    """A value as JSON may have it: `exact`; else as a number that is `begun` and has one of its `ends`; or a `rest`."""

    exact: str
    begun: str
    ends: tuple[str, str, str]
    rest: str


class Holders(NamedTuple):
    """The newest first. `is_cut`: not all were looked into, because some are too large, or all together are."""

    keys: Sequence[int]
    is_cut: bool


class ExplainingSnapshot(InboxSnapshot):
    def waiting_on(self, tenant_id: str, keys: Sequence[str], most: int) -> list[WaitingRow]:
        """Who waits on any of these keys, and the last who stopped; `most` of those that stand apart for each key."""
        if not keys:
            return []
        many = self._many(keys)
        apart = self._rows(SubscriptionRow, "waiting_apart_on", many, tenant_id, tenant_id, most)
        return [
            *self._rows(WaitingRow, "waiting_on", many, tenant_id),
            *(
                WaitingRow(
                    *(row.correlation_key, row.name, row.process_id, row.instance_key, row.element_id, row.opened_at),
                    *(0, row.key if row.closed_at is None else 0, "[]"),
                )
                for row in apart
            ),
        ]

    def waiting_from(self, tenant_id: str, after: str, limit: int) -> list[WaitingRow]:
        """The next in the order of their keys, after a key: so many of each kind, those who stopped among them."""
        place = (tenant_id, after, limit)
        both = [*self._rows(WaitingRow, "waiting_from", *place), *self._rows(WaitingRow, "apart_from", *place)]
        return sorted(both, key=lambda row: row.correlation_key)

    def holding(self, tenant_id: str, processes: Sequence[str], texts: ValueTexts, newest: int) -> Holders:
        """Active instances of some processes with a value in their bodies; where none has it exactly, those that have
        it otherwise. Among the newest of those that are active, have work, or a timer: so many of each, of all tenants.
        """
        walked = {key for kind in NEWEST for (key,) in self._read(kind, _AFTER_ALL, newest)}
        in_order, left_bytes, is_cut = iter(sorted(walked, reverse=True)), newest * _BYTES_EACH, False
        exact: list[int] = []
        otherwise: list[int] = []
        sought = (LARGEST_BODY, texts.exact, texts.begun, *texts.ends, texts.rest)
        while some := list(islice(in_order, _AT_ONCE)):
            if left_bytes <= 0:
                return Holders(exact or otherwise, True)
            rows = self._read("holding", *sought, self._many(some), tenant_id, self._many(processes))
            for key, size, found in sorted(rows, reverse=True):
                left_bytes -= min(size, LARGEST_BODY)
                is_cut |= found is None
                if found:
                    (exact if found == _EXACT else otherwise).append(key)
        return Holders(exact or otherwise, is_cut)

    def not_larger(self, keys: Sequence[int], bytes_each: int) -> list[int]:
        """Those of the instances that have at most so many bytes."""
        return [key for (key,) in self._read("not_larger", self._many(keys), bytes_each)] if keys else []

    def evidence(self, messages: Sequence[int]) -> Sequence[EvidenceRow]:
        """Of the messages with these keys, as far as there is some."""
        return self._rows(EvidenceRow, "evidence", self._many(messages)) if messages else []

    def newest_lost(self, verdict: str, since: int, most: int) -> list[int]:
        """Messages with this verdict, decided since then, without evidence; among so many of the newest."""
        return [key for (key,) in self._read("newest_lost", verdict, most, since)]
