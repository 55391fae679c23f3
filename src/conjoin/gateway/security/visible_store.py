"""What a caller sees of a store: rows of its tenants, and of these what its grants name. Everything else is hidden.

Readers are given the same broker with a narrower store and catalog, so lists, searches, counts and explanations need no
checks of their own. Definitions are narrowed by tenant only: the reader of a message may see which process took it.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from conjoin.gateway.security.grants import Grant, Thing
from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.reading import finding
from conjoin.runtime.reading.finding import BY_KEY, Meets, RowOrder
from conjoin.runtime.reading.paging import order_key
from conjoin.runtime.visibility.scope import VisibleScope

_AT_ONCE = 500
_WITH_TENANT = ("message", "subscription", "instance", "job", "definition")
_OF_INSTANCES = ("job", "incident")
_BESIDE = ("evidence",)
"""Looked up for what was found in the lists, and shown as far as the scope allows."""


def confined(broker: Broker, grants: tuple[Grant, ...]) -> Broker:
    if any(grant.is_total for grant in grants):
        return broker
    narrow: Any = copy(broker)
    narrow.store = _Store(broker, grants)
    narrow.catalog = _Catalog(broker, grants)
    narrow.scope = _Scope(grants)
    return narrow  # type: ignore[no-any-return]


class _Scope(VisibleScope):
    def __init__(self, grants: tuple[Grant, ...]) -> None:
        self._grants = grants

    def sees(self, tenant_id: str, message: str | None = None, process: str | None = None) -> bool:
        thing = Thing(tenant_id, message, process)
        return any(grant.covers(thing) for grant in self._grants)


class _Store:
    """The port's lists, narrowed; everything else as it is. Shards are only read for what was found in the lists."""

    def __init__(self, broker: Broker, grants: tuple[Grant, ...]) -> None:
        self._broker = broker
        self._grants = grants
        exact = [grant.tenants.exact for grant in grants]
        self._tenants = None if None in exact else tuple({it: None for some in exact for it in some or ()})
        self._by_tenant_alone = all(it.messages.is_all and it.processes.is_all and it.jobs.is_all for it in grants)

    @property
    def whole(self) -> Any:
        """The store as it is, for code that looks for positions in it and not for rows."""
        return self._broker.store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._broker.store, name)

    def rows(
        self,
        table: Any,
        where: Mapping[str, Any],
        after: tuple[Any, ...] | None,
        limit: int,
        order: RowOrder = BY_KEY,
    ) -> list[Any]:
        if table.name in _BESIDE:
            return list(self._broker.store.rows(table, where, after, limit, order))
        found: list[Any] = []
        for some in self._pages(table, where, after, limit, order):
            found += some
            if len(found) >= limit:
                break
        return found[:limit]

    def count(self, table: Any, where: Mapping[str, Any], most: int) -> int:
        if self._by_tenant_alone and self._tenants is not None and table.name in _WITH_TENANT:
            return self._broker.store.count(table, self._narrowed(table, where), most)
        found = 0
        for some in self._pages(table, where, None, _AT_ONCE, BY_KEY):
            found += len(some)
            if found >= most:
                break
        return min(found, most)

    def _pages(
        self, table: Any, where: Mapping[str, Any], after: tuple[Any, ...] | None, limit: int, order: RowOrder
    ) -> Iterator[list[Any]]:
        if table.name not in (*_WITH_TENANT, *_OF_INSTANCES):
            return
        narrowed = self._narrowed(table, where)
        at_once = max(limit, 1)
        while True:
            rows = list(self._broker.store.rows(table, narrowed, after, at_once, order))
            yield self._seen(table.name, rows)
            if len(rows) < at_once:
                return
            after = order_key(table, rows[-1], order)
            at_once = _AT_ONCE

    def _narrowed(self, table: Any, where: Mapping[str, Any]) -> Mapping[str, Any]:
        """So that the store has less to scan; visibility is decided row by row."""
        if self._tenants is None or table.name not in _WITH_TENANT:
            return where
        wanted = where.get("tenant_id", Meets(()))
        if not isinstance(wanted, Meets):
            wanted = Meets((("in" if isinstance(wanted, tuple) else "=", wanted),))
        return {**where, "tenant_id": Meets((*wanted.tests, ("in", self._tenants)))}

    def _seen(self, table: str, rows: Sequence[Any]) -> list[Any]:
        return [
            row
            for row, thing in zip(rows, things_of(self._broker, table, rows), strict=True)
            if thing is not None and any(grant.covers(thing) for grant in self._grants)
        ]


def things_of(broker: Broker, table: str, rows: Sequence[Any]) -> Iterator[Thing | None]:
    """None for what belongs to an instance that has just been deleted: it is not visible."""
    instances: Mapping[int, Any] = {}
    if table in _OF_INSTANCES:
        instances = finding.rows_with(broker, "instance", (row.instance_key for row in rows))
    for row in rows:
        if table == "message":
            yield Thing(row.tenant_id, row.name)
        elif table == "subscription":
            yield Thing(row.tenant_id, row.name, row.process_id)
        elif table not in _OF_INSTANCES:
            yield Thing(row.tenant_id, process=row.process_id)
        else:
            its = instances.get(row.instance_key)
            yield None if its is None else Thing(its.tenant_id, None, its.process_id, getattr(row, "type", None))


class _Catalog:
    """Definitions of visible tenants. Policies are those of the store."""

    def __init__(self, broker: Broker, grants: tuple[Grant, ...]) -> None:
        self._broker = broker
        self._grants = grants
        self._last: tuple[CatalogView, CatalogView] | None = None

    def view(self) -> CatalogView:
        whole, last = self._broker.catalog.view(), self._last
        if last is not None and last[0] is whole:
            return last[1]
        view = copy(whole)
        seen = [
            it
            for it in whole.definitions.by_key.values()
            if any(grant.tenants.meets(it.tenant_id) for grant in self._grants)
        ]
        view.definitions = type(whole.definitions)(seen)
        self._last = (whole, view)
        return view

    @property
    def last_seen(self) -> CatalogView:
        return self.view()
