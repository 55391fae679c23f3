"""What explanations read of a snapshot: a part of the port. Every answer has a limit, and nothing walks a table."""

from collections.abc import Sequence

from conjoin.store.inbox_port import InboxSnapshot
from conjoin.store.rows import SubscriptionRow, WaitingRow
from conjoin.store.sql.explaining import KINDS_HOLDING

_AFTER_ALL = 2**63 - 1
MOST_HOLDERS = 20


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

    def holding(self, tenant_id: str, values: tuple[str, str, str], newest: int) -> list[int]:
        """Active instances with one of these texts in their bodies: among the newest of those that are active, have
        work, or a timer, so many of each.
        """
        found: dict[int, None] = {}
        for kind in KINDS_HOLDING:
            rows = self._read(f"holding_{kind}", _AFTER_ALL, newest, tenant_id, *values, MOST_HOLDERS)
            found.update((key, None) for (key,) in rows)
        return list(found)
