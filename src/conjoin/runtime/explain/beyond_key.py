"""Near misses beyond a correlation key, found through the store: other keys and tenants, names, and incidents.

Only an explanation looks for them; no rule does. Each is a small mapping with a `kind`, as those of the kernel.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from operator import attrgetter

from conjoin.kernel.correlation import KeySpace
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR
from conjoin.kernel.verdicts.near_misses import MOST, NearMiss
from conjoin.runtime.codec.key_spaces import read_spaces
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.explain.similar_keys import difference, variants
from conjoin.runtime.explain.similar_names import Listener, listeners, nearest_name, places_of_incidents
from conjoin.store import tables as t
from conjoin.store.port import KeyRows, Store
from conjoin.store.rows import IncidentRow, SubscriptionRow

_LOOKED_AT = 200
"""So many of those who wait for the same name are compared."""
_COMPARED = 64
"""So much of a key is compared: keys may be very long."""


def beyond_key(store: Store, deployed: CatalogView, space: KeySpace, name: str) -> Iterator[NearMiss]:
    known = list(listeners(deployed.definitions, space.tenant_id))
    yield from _started_elsewhere(deployed, space.tenant_id, name)
    yield from _never_awaited(deployed, known, space.tenant_id, name)
    waiting = [listener for listener in known if listener.may_wait_for(name)]
    if waiting:
        yield from _incidents(store, waiting, space.tenant_id)
        yield from _other_keys(store, space, name)


def other_tenants(store: Store, deployed: CatalogView, space: KeySpace, name: str) -> tuple[KeySpace, ...]:
    """The same key in other tenants, with who waits there for the name."""
    others = _other_tenants(deployed, space.tenant_id)
    if not others:
        return ()
    where = {"tenant_id": others, "correlation_key": space.key, "name": name, "closed_at": None}
    rows = store.rows(t.SUBSCRIPTION, where, None, MOST)
    return tuple(
        read_spaces(tenant, [space.key], KeyRows(list(some), (), ()), deployed.policy_of)[space.key].space
        for tenant, some in groupby(rows, attrgetter("tenant_id"))
    )


def _other_tenants(deployed: CatalogView, tenant_id: str) -> tuple[str, ...]:
    """Who has anything deployed."""
    return tuple({tenant: None for tenant, _ in deployed.definitions.versions if tenant != tenant_id})


def _started_elsewhere(deployed: CatalogView, tenant_id: str, name: str) -> Iterator[NearMiss]:
    for tenant in _other_tenants(deployed, tenant_id):
        for listener in listeners(deployed.definitions, tenant):
            if listener.name == name and listener.element in listener.definition.plan.starts:
                who = {"process": listener.definition.process_id, "element": listener.element.id}
                yield {"kind": "other_tenant", "tenant": tenant, **who}


def _other_keys(store: Store, space: KeySpace, name: str) -> Iterator[NearMiss]:
    """Those that were meant, in all likelihood; then the most similar of those who wait for the name."""
    where = {"tenant_id": space.tenant_id, "name": name, "closed_at": None}
    meant = store.rows(t.SUBSCRIPTION, {**where, "correlation_key": variants(space.key)}, None, MOST)
    others = store.rows(t.SUBSCRIPTION, where, None, _LOOKED_AT)
    found = {row.key: row for row in (*meant, *others) if row.correlation_key != space.key}
    for row in sorted(found.values(), key=lambda row: _distance(space.key, row.correlation_key))[:MOST]:
        differs = difference(space.key, row.correlation_key)
        yield {"kind": "other_key", "key": row.correlation_key, "differs": differs, **_who(row)}


def _distance(key: str, other: str) -> tuple[bool, float]:
    alike = SequenceMatcher(None, key[:_COMPARED], other[:_COMPARED]).ratio()
    return (difference(key, other) == "key", -alike)


def _who(row: SubscriptionRow) -> NearMiss:
    return {"process": row.process_id, "instance": row.instance_key, "element": row.element_id}


def _never_awaited(deployed: CatalogView, known: Sequence[Listener], tenant_id: str, name: str) -> Iterator[NearMiss]:
    names = {listener.name: None for listener in known if listener.name is not None}
    if name in names:
        return
    miss: NearMiss = {"kind": "never_awaited"}
    if _other_tenants(deployed, tenant_id):
        miss["tenant"] = tenant_id
    similar = nearest_name(name, list(names))
    if similar is not None:
        miss["similar"] = similar
    computing = {listener.definition.process_id: None for listener in known if listener.name is None}
    if computing:
        miss["computed"] = list(computing)
    yield miss


def _incidents(store: Store, waiting: Sequence[Listener], tenant_id: str) -> Iterator[NearMiss]:
    """An element that would wait for the name, but its name or key could not be evaluated."""
    places = {
        (listener.definition.key, element_id): listener
        for listener in waiting
        for element_id in places_of_incidents(listener)
    }
    where = {"error_type": EXTRACT_VALUE_ERROR, "element_id": tuple({element_id for _, element_id in places})}
    rows: Sequence[IncidentRow] = list(store.rows(t.INCIDENT, where, None, _LOOKED_AT))
    definitions = _definitions_of(store, rows, tenant_id)
    for row in rows:
        listener = places.get((definitions.get(row.instance_key, 0), row.element_id))
        if listener is not None:
            who = {"process": listener.definition.process_id, "instance": row.instance_key, "element": row.element_id}
            yield {"kind": "incident", "incident": row.key, **who, "text": row.text}


def _definitions_of(store: Store, rows: Sequence[IncidentRow], tenant_id: str) -> dict[int, int]:
    keys = tuple({row.instance_key for row in rows})
    where = {"key": keys, "tenant_id": tenant_id}
    return {row.key: row.definition_key for row in store.rows(t.INSTANCE, where, None, len(keys))} if keys else {}
