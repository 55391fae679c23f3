"""Instances that have a key in them, though they do not wait with it: too early, or stopped by an incident.

Those are looked up that the key leads to: who waits on it for something else, who took a message with it, who holds it
or has it as business id; then the newest instances with its text among their variables. How far was looked is told.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.instants import elapsed_ms
from conjoin.kernel.plan import Element
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR
from conjoin.kernel.verdicts.ahead import Awaiting, RestingToken, first_ahead
from conjoin.kernel.verdicts.near_misses import NearMiss
from conjoin.runtime.codec.instances import WrittenElement, children_of
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.explain import similar
from conjoin.runtime.explain.key_view import KeyView
from conjoin.runtime.explain.shard_views import ShardViews
from conjoin.runtime.explain.similar import Listener
from conjoin.store import tables as t
from conjoin.store.port import RowOrder
from conjoin.store.rows import InstanceRow, MessageRow, WaitingRow

NEWEST, _LEAST_NEWEST = 2_000, 100
"""So many of the newest instances are looked into on the shard of the key, and as many on all others together."""
_MOST = 40
_MESSAGES = 20
_TOLD = 3
_LEAST_VALUE = 2
_NEVER = "\x01"
"""In no JSON."""
_TARGET_INSTANCE = {0: 6, 1: 3}
"""Of a target in the record of a message, by its kind, where the key of the instance stands."""
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

    def __init__(self, shards: ShardViews, view: KeyView, name: str) -> None:
        self._shards, self._store, self._view, self._name = shards, shards.store, view, name
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
            bearer = bearer_of(row, self._view.deployed.definitions) if row.process_id in processes else None
            if bearer is not None:
                found += misses_of(bearer, self._name, self._key, self._view.now, sought)
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
        for snapshot in self._shards.all():
            found += [holder.instance_key for holder in snapshot.id_holders(self._tenant_id, ids)]
        return [key for key in found if isinstance(key, int)]

    def _newest(self) -> list[int]:
        """Those that have the key among their variables; those who made the shard of the key their home first."""
        if len(self._key) < _LEAST_VALUE:
            return []
        home = shard_of(self._key, len(self._shards.indexes))
        others = [index for index in self._shards.indexes if index != home]
        self.looked_at = 0
        found: list[int] = []
        for index in (home, *others):
            most = NEWEST if index == home else max(NEWEST // len(others), _LEAST_NEWEST)
            snapshot = self._shards.of(index)
            if snapshot is not None:
                found += snapshot.holding(self._tenant_id, _as_written(self._key), most)
                self.looked_at += most
        return found


class StandingElement(NamedTuple):
    """An element of an instance, what can be seen where it stands, and its incident: key, type and text."""

    element_id: str
    variables: Mapping[str, Any]
    incident: tuple[int, str, str] | None
    is_scope: bool
    """Its tokens are inside."""


class KeyBearer(NamedTuple):
    process_id: str
    key: int
    definition: Definition
    business_id: str
    standing: Sequence[StandingElement]


def misses_of(it: KeyBearer, name: str, key: str, now: int, sought: Sought) -> list[NearMiss]:
    """It would wait for this if it did not stand still, or will wait for it later; at most one."""
    who: NearMiss = {"process": it.process_id, "instance": it.key}
    stuck = _stopped(it.standing, [its for its in sought.listeners if its.definition is it.definition])
    if stuck is not None:
        incident, element_id = stuck
        return [{"kind": "incident", "incident": incident[0], **who, "element": element_id, "text": incident[2]}]
    elements = it.definition.plan.elements
    tokens = [
        RestingToken(elements[at.element_id], at.variables)
        for at in it.standing
        if at.element_id in elements and not at.is_scope
    ]
    ahead = first_ahead(tokens, Awaiting(name, key, it.business_id, now))
    if ahead is None:
        return []
    miss: NearMiss = {"kind": "too_early", **who, "element": ahead.element.id, "at": ahead.token.id}
    if ahead.token.name:
        miss["at_name"] = ahead.token.name
    miss |= _usually(it.process_id, ahead.element, sought.sample)
    return [miss | ({"kept": True} if sought.kept else {})]


def _stopped(
    standing: Sequence[StandingElement], listeners: Sequence[Listener]
) -> tuple[tuple[int, str, str], str] | None:
    """The incident at an element that would wait for the name, and the element."""
    waiting = {element_id for it in listeners for element_id in similar.elements_with_incidents(it)}
    for it in standing:
        if it.incident is not None and it.incident[1] == EXTRACT_VALUE_ERROR and it.element_id in waiting:
            return it.incident, it.element_id
    return None


def bearer_of(row: InstanceRow, definitions: Definitions) -> KeyBearer | None:
    definition = definitions.by_key.get(row.definition_key)
    if definition is None:
        return None
    body = WrittenElement(*read_json(row.body))
    return KeyBearer(row.process_id, row.key, definition, row.business_id, list(_standing(body, body.variables or {})))


def _receivers(row: MessageRow) -> Iterator[int]:
    written = read_json(row.record)
    for target in (written[2] if len(written) > 2 else None) or ():
        yield target[_TARGET_INSTANCE[target[0]]]


def _standing(it: WrittenElement, variables: Mapping[str, Any]) -> Iterator[StandingElement]:
    """Every element, outermost first."""
    incident = (it.incident[0], it.incident[2], it.incident[3]) if it.incident else None
    inside = list(children_of(it))
    yield StandingElement(it.element_id, variables, incident, bool(inside))
    for child in inside:
        has_own = next(children_of(child), None) is not None and child.variables
        yield from _standing(child, {**variables, **(child.variables or {})} if has_own else variables)


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
