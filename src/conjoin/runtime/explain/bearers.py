"""Instances that have a key in them, though they do not wait with it: too early, or stopped by an incident.

Those are looked up that the key leads to: who waits on it for something else, who took a message with it, who holds it
or has it as business id; then the newest instances with its text among their variables. How far was looked is told.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.kernel.instants import elapsed_ms
from conjoin.kernel.plan import Element
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR
from conjoin.kernel.verdicts.ahead import Awaiting, Token, first_ahead
from conjoin.kernel.verdicts.near_misses import NearMiss
from conjoin.runtime.codec.instances import WrittenElement, children_of
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.explain import similar
from conjoin.runtime.explain.awaited_keys import looking_into
from conjoin.runtime.explain.key_view import KeyView
from conjoin.runtime.explain.similar import Listener
from conjoin.store import tables as t
from conjoin.store.port import RowOrder, Store
from conjoin.store.rows import InstanceRow, MessageRow, WaitingRow

NEWEST, NEWEST_ELSEWHERE = 2_000, 4_000
"""So many of the newest instances are looked into on the shard of the key, and on all others together."""
_MOST = 40
_MESSAGES = 20
_TOLD = 3
_LEAST_VALUE = 2
_NEVER = "\x01"
"""In no JSON."""
_TARGET_INSTANCE = {0: 6, 1: 3}
"""Of a target in the record of a message, by its kind, where the key of the instance stands."""
Standing = tuple[WrittenElement, Mapping[str, Any]]
"""An element, and the variables that can be seen where it stands."""
_DURATIONS = (("1h", 3_600_000), ("6h", 21_600_000), ("1d", 86_400_000), ("7d", 604_800_000), ("30d", 2_592_000_000))
"""Times to live that are recommended: four times what is usual, an hour at least."""


class Sought(NamedTuple):
    """Who may wait for the name; the message, as far as it matters; and some who wait, to learn when they began to."""

    listeners: Sequence[Listener]
    business_id: str
    kept: bool
    sample: Sequence[WaitingRow]


class Bearers:
    """Of one key, for one name."""

    def __init__(self, store: Store, view: KeyView, name: str) -> None:
        self._store, self._view, self._name = store, view, name
        self._tenant_id, self._key = view.space.tenant_id, view.space.key
        self.looked_at: int | None = None
        """So many of the newest instances were looked into; None where that was not necessary."""

    def misses(self, sought: Sought) -> list[NearMiss]:
        if not self._key or not any(it.element not in it.definition.plan.starts for it in sought.listeners):
            return []
        found = self._looked_into(self._led_to(sought.business_id), sought)
        return found or self._looked_into(self._newest(), sought)

    def _looked_into(self, keys: Sequence[int], sought: Sought) -> list[NearMiss]:
        processes = {listener.definition.process_id for listener in sought.listeners}
        found: list[NearMiss] = []
        for row in self._instances(keys):
            if row.process_id in processes:
                found += self._of_instance(row, sought)
            if len(found) >= _TOLD:
                break
        return found

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
        for index in range(self._store.facts.shards):
            with looking_into(self._store, index) as snapshot:
                holders = () if snapshot is None else snapshot.id_holders(self._tenant_id, ids)
                found += [holder.instance_key for holder in holders]
        return [key for key in found if isinstance(key, int)]

    def _newest(self) -> list[int]:
        """Those that have the key among their variables; those who made the shard of the key their home first."""
        if len(self._key) < _LEAST_VALUE:
            return []
        shards = self._store.facts.shards
        home = shard_of(self._key, shards)
        others = [index for index in range(shards) if index != home]
        self.looked_at = 0
        found: list[int] = []
        for index in (home, *others):
            most = NEWEST if index == home else max(NEWEST_ELSEWHERE // max(len(others), 1) // 4, 100)
            with looking_into(self._store, index) as snapshot:
                if snapshot is not None:
                    found += snapshot.holding(self._tenant_id, _as_written(self._key), most)
                    self.looked_at += most
        return found

    def _of_instance(self, row: InstanceRow, sought: Sought) -> list[NearMiss]:
        definition = self._view.deployed.definitions.by_key.get(row.definition_key)
        if definition is None:
            return []
        body = WrittenElement(*read_json(row.body))
        rest = list(_at_rest(body, body.variables or {}))
        who: NearMiss = {"process": row.process_id, "instance": row.key}
        stuck = self._stopped(rest, [it for it in sought.listeners if it.definition is definition])
        if stuck is not None:
            incident, element_id = stuck
            return [{"kind": "incident", "incident": incident[0], **who, "element": element_id, "text": incident[3]}]
        elements = definition.plan.elements
        tokens = [
            Token(elements[it.element_id], variables)
            for it, variables in rest
            if it is not body and it.element_id in elements and not _has_inside(it)
        ]
        ahead = first_ahead(tokens, Awaiting(self._name, self._key, row.business_id, self._view.now))
        if ahead is None:
            return []
        miss: NearMiss = {"kind": "too_early", **who, "element": ahead.element.id, "at": ahead.token.id}
        if ahead.token.name:
            miss["at_name"] = ahead.token.name
        miss |= _usually(row.process_id, ahead.element, sought.sample)
        return [miss | ({"kept": True} if sought.kept else {})]

    @staticmethod
    def _stopped(rest: Sequence[Standing], listeners: Sequence[Listener]) -> tuple[list[Any], str] | None:
        """The incident at an element that would wait for the name, and the element."""
        waiting = {element_id for it in listeners for element_id in similar.elements_with_incidents(it)}
        for it, _ in rest:
            if it.incident is not None and it.incident[2] == EXTRACT_VALUE_ERROR and it.element_id in waiting:
                return it.incident, it.element_id
        return None


def _receivers(row: MessageRow) -> Iterator[int]:
    written = read_json(row.record)
    for target in (written[2] if len(written) > 2 else None) or ():
        yield target[_TARGET_INSTANCE[target[0]]]


def _at_rest(it: WrittenElement, variables: Mapping[str, Any]) -> Iterator[Standing]:
    """Every element with what can be seen where it stands."""
    yield it, variables
    for child in children_of(it):
        yield from _at_rest(child, {**variables, **(child.variables or {})} if _has_inside(child) else variables)


def _has_inside(it: WrittenElement) -> bool:
    return bool(it.inside) and next(children_of(it), None) is not None


def _usually(process_id: str, element: Element, sample: Sequence[WaitingRow]) -> dict[str, Any]:
    """How long after their start others began to wait there; and a time to live that is long enough for most."""
    times = [
        elapsed_ms(row.started_at, row.opened_at)
        for row in sample
        if row.started_at and (row.process_id, row.element_id) == (process_id, element.id)
    ]
    if not times:
        return {"keep": _DURATIONS[0][0]}
    usual = sum(times) // len(times)
    keep = next((text for text, ms in _DURATIONS if ms >= 4 * usual), _DURATIONS[-1][0])
    return {"usual_ms": usual, "keep": keep}


def _as_written(key: str) -> tuple[str, str, str]:
    """The key as JSON has it: as a text, the number in it, or what stands behind its prefix."""
    digits = "".join(it for it in key if it.isdigit())
    rest = key.lstrip("".join({it for it in key if it.isalpha() or it in "-_:/#. "}))
    number = f":{int(digits)}" if len(digits) >= _LEAST_VALUE and key.endswith(digits) else _NEVER
    return json_text(key), number, json_text(rest) if len(rest) >= _LEAST_VALUE and rest != key else _NEVER
