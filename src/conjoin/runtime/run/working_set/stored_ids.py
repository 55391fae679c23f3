"""What a run looks up of business ids: who holds one, and which stored messages bring it.

The store is as it was before the run. An instance that has ended in the run holds nothing any more, and a message is
the record that the run works with, so that what happened to it lately is seen.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from conjoin.runtime.engine.business_ids import Stored
from conjoin.store.port import IdHolder

if TYPE_CHECKING:
    from conjoin.runtime.run.working_set.working_set import WorkingSet

_AT_ONCE = 50


class StoredIds:
    def __init__(self, its: "WorkingSet") -> None:
        self._its = its

    def holders(self, tenant_id: str, business_ids: Sequence[str]) -> Iterator[IdHolder]:
        live, alive = self._its.live, self._its.state.elements
        for found in self._its.snapshot.id_holders(tenant_id, business_ids):
            if found.instance_key not in live or found.instance_key in alive:
                yield found

    def stored(self, tenant_id: str, business_id: str) -> Iterator[Stored]:
        its, after = self._its, 0
        while True:
            rows = its.snapshot.messages_with_business_id(tenant_id, business_id, after, _AT_ONCE)
            its.fetch_spaces(tenant_id, [row.correlation_key for row in rows])
            its.fetch_messages(rows)
            for row in rows:
                yield row.correlation_key, its.spaces.by_place[tenant_id, row.correlation_key].messages[row.key]
            if len(rows) < _AT_ONCE:
                return
            after = rows[-1].key
