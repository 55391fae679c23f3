"""What a run looks up of business ids: who holds one, and which stored messages bring it.

The store is as it was before the run. An instance that has ended in the run holds nothing any more, and a message is
the record that the run works with, so that what happened to it lately is seen.
"""

from collections.abc import Iterator, Sequence

from conjoin.runtime.engine.business_ids import Stored
from conjoin.runtime.run.working_set.loaded_instances import LoadedState
from conjoin.runtime.run.working_set.loaded_spaces import LoadedSpaces
from conjoin.store.port import IdHolder

_AT_ONCE = 50


class StoredIds:
    def __init__(self, state: LoadedState, spaces: LoadedSpaces) -> None:
        self._state = state
        self._spaces = spaces

    def holders(self, tenant_id: str, business_ids: Sequence[str]) -> Iterator[IdHolder]:
        live, alive = self._state.live, self._state.elements
        for found in self._spaces.snapshot.id_holders(tenant_id, business_ids):
            if found.instance_key not in live or found.instance_key in alive:
                yield found

    def stored(self, tenant_id: str, business_id: str) -> Iterator[Stored]:
        spaces, after = self._spaces, 0
        while True:
            rows = spaces.snapshot.messages_with_business_id(tenant_id, business_id, after, _AT_ONCE)
            spaces.fetch(tenant_id, [row.correlation_key for row in rows])
            spaces.fetch_messages(rows)
            for row in rows:
                yield row.correlation_key, spaces.by_place[tenant_id, row.correlation_key].messages[row.key]
            if len(rows) < _AT_ONCE:
                return
            after = rows[-1].key
