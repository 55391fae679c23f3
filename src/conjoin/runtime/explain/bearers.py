"""Instances that have a key in them, though they do not wait with it: too early, or stopped by an incident.

Those are looked up that the key leads to: who waits on it for something else, who took a message with it, who holds it
or has it as business id; then the newest instances with its text among their variables. How far was looked is told.
Every look is bounded in rows and in bytes.
"""

from collections.abc import Collection, Iterator, Sequence

from conjoin.kernel.verdicts.ahead import Awaiting
from conjoin.kernel.verdicts.near_misses import NearMiss
from conjoin.kernel.verdicts.similar_keys import LONGEST
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.explain.key_bearers import KeyBearer, Sought, awaiting, bearer_of, misses_of
from conjoin.runtime.explain.key_view import KeyView
from conjoin.runtime.explain.shard_views import ShardViews
from conjoin.store import tables as t
from conjoin.store.explaining_port import ValueTexts
from conjoin.store.port import RowOrder
from conjoin.store.rows import InstanceRow, MessageRow

NEWEST, _LEAST_NEWEST = 5_000, 100
"""So many of the newest instances are looked into on the shard of the key, and as many on all others together."""
_MOST = 40
_MESSAGES = 20
_TOLD = 3
_LEAST_VALUE = 2
_LARGEST_LED_TO = 256 * 1024
"""Bytes of an instance that is looked into because something leads to it."""
_NEVER = "\x01"
"""In no JSON."""
_DIGITS = "0123456789"
_TARGET_INSTANCE = {0: 6, 1: 3}
"""Of a target in the record of a message, by its kind, where the key of the instance stands."""


class Bearers:
    """Of one key, for one name."""

    def __init__(self, shards: ShardViews, view: KeyView, name: str, searched: bool = True) -> None:
        """Not `searched`: only those that the key leads to."""
        self._searched = searched
        self._shards, self._store, self._view, self._name = shards, shards.store, view, name
        self._tenant_id, self._key = view.space.tenant_id, view.space.key
        self.looked_at: int | None = None
        """So many of the newest instances were gone through; None where that was not necessary."""
        self.is_cut = False
        """Some of them were not looked into."""

    def misses(self, sought: Sought) -> list[NearMiss]:
        if not self._key or not any(it.element not in it.definition.plan.starts for it in sought.listeners):
            return []
        processes = sought.processes(self._view.deployed.definitions, self._tenant_id)
        found = self._looked_into(self._small(self._led_to(sought.business_id)), sought, processes)
        return found or self._looked_into(self._newest(processes) if self._searched else [], sought, processes)

    def _looked_into(self, keys: Sequence[int], sought: Sought, processes: Collection[str]) -> list[NearMiss]:
        found: list[NearMiss] = []
        for row in self._instances(keys):
            bearer = bearer_of(row, self._view.deployed.definitions) if row.process_id in processes else None
            if bearer is not None:
                found += misses_of(bearer, self._awaiting(bearer), sought)
            if len(found) >= _TOLD:
                break
        return found

    def _awaiting(self, bearer: KeyBearer) -> Awaiting:
        definitions = self._view.deployed.definitions
        return awaiting(definitions, self._tenant_id, (self._name, self._key, bearer.business_id, self._view.now))

    def _instances(self, keys: Sequence[int]) -> list[InstanceRow]:
        wanted = tuple(dict.fromkeys(keys))[:_MOST]
        if not wanted:
            return []
        rows = self._store.rows(t.INSTANCE, {"key": wanted, "tenant_id": self._tenant_id}, None, len(wanted))
        active = {row.key: row for row in rows if row.state == "active"}
        return [active[key] for key in wanted if key in active]

    def _led_to(self, business_id: str) -> list[int]:
        space = self._view.space
        found = [lock.instance_id for lock in space.locks.values()]
        for topic in space.topics.values():
            found += [it.instance_id for it, _ in zip(topic.open_subscriptions(), range(_TOLD), strict=False)]
            found += [topic.last_closed.subscription.instance_id] if topic.last_closed else []
        where = {"tenant_id": self._tenant_id, "correlation_key": self._key}
        rows: Sequence[MessageRow] = list(self._store.rows(t.MESSAGE, where, None, _MESSAGES, RowOrder(backward=True)))
        found += [key for row in rows for key in _receivers(row)]
        ids = tuple({self._key, business_id} - {""})
        for snapshot in self._shards.all():
            found += [holder.instance_key for holder in snapshot.id_holders(self._tenant_id, ids)]
        return [key for key in found if isinstance(key, int)]

    def _small(self, keys: Sequence[int]) -> list[int]:
        """Those whose bodies can be read at once."""
        wanted = list(dict.fromkeys(keys))[:_MOST]
        small = {key for it in self._shards.all() for key in it.not_larger(wanted, _LARGEST_LED_TO)}
        return [key for key in wanted if key in small]

    def _newest(self, processes: Collection[str]) -> list[int]:
        """Those that have the key among their variables; those who made the shard of the key their home first."""
        if not _LEAST_VALUE <= len(self._key) <= LONGEST:
            return []
        home = shard_of(self._key, len(self._shards.indexes))
        others = [index for index in self._shards.indexes if index != home]
        self.looked_at = 0
        found: list[int] = []
        for index in (home, *others):
            most = NEWEST if index == home else max(NEWEST // len(others), _LEAST_NEWEST)
            snapshot = self._shards.of(index)
            if snapshot is not None:
                holders = snapshot.holding(self._tenant_id, sorted(processes), _as_written(self._key), most)
                found += holders.keys
                self.looked_at += most
                self.is_cut |= holders.is_cut
        self.is_cut |= len(found) > _MOST
        return found


def _receivers(row: MessageRow) -> Iterator[int]:
    written = read_json(row.record)
    for target in (written[2] if len(written) > 2 else None) or ():
        yield target[_TARGET_INSTANCE[target[0]]]


def _as_written(key: str) -> ValueTexts:
    """The key as JSON has it: as a text, the number at its end, or what stands behind its prefix."""
    head = key.rstrip(_DIGITS)
    digits = key[len(head) :].lstrip("0")
    is_number = len(key) - len(head) >= _LEAST_VALUE and not any(it in _DIGITS for it in head)
    begun = f":{digits or 0}" if is_number else _NEVER
    rest = key.lstrip("".join({it for it in key if it.isalpha() or it in "-_:/#. "}))
    # A number with a fraction waits as its integer part.
    ends = (f"{begun},", f"{begun}}}", f"{begun}.")
    return ValueTexts(json_text(key), begun, ends, json_text(rest) if _LEAST_VALUE <= len(rest) < len(key) else _NEVER)
