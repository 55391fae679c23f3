"""The catalog as it was at each of its versions, read from one frozen view of a store."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from conjoin.runtime.engine.stored_catalog import CatalogView, StoredCatalog
from conjoin.store import tables as t
from conjoin.store.rows import DefinitionRow, PolicyRow
from conjoin.store.tables import Table


class CatalogVersions:
    def __init__(self, frozen: Any, profile: str) -> None:
        self._definitions: list[DefinitionRow] = _in_order(frozen, t.DEFINITION)
        self._policies: list[PolicyRow] = _in_order(frozen, t.POLICY)
        self._resources = {row.digest: bytes(row.content) for row in frozen.catalog_rows(t.RESOURCE)}
        self._profile = profile
        self._views: dict[int, CatalogView] = {}

    @property
    def newest(self) -> int:
        deployed = (row.catalog_version for row in self._definitions)
        return max(*deployed, *(row.catalog_version for row in self._policies), 0, 0)

    def at(self, version: int) -> CatalogView:
        view = self._views.get(version)
        if view is None:
            as_of = _AsOf(version, self._definitions, self._policies, self._resources)
            view = self._views[version] = StoredCatalog(as_of, self._profile).view()
        return view


def _in_order(frozen: Any, table: Table) -> list[Any]:
    return sorted(frozen.catalog_rows(table), key=attrgetter("catalog_version", *table.key))


class _AsOf:
    """A catalog that ends at a version, and takes nothing new."""

    def __init__(
        self,
        version: int,
        definitions: Sequence[DefinitionRow],
        policies: Sequence[PolicyRow],
        resources: Mapping[str, bytes],
    ) -> None:
        self._version = version
        self._definitions = definitions
        self._policies = policies
        self._resources = resources

    def version(self) -> int:
        return self._version

    def definitions(self, after: int = 0) -> Sequence[DefinitionRow]:
        return [row for row in self._definitions if after < row.catalog_version <= self._version]

    def policies(self, after: int = 0) -> Sequence[PolicyRow]:
        return [row for row in self._policies if after < row.catalog_version <= self._version]

    def resource(self, digest: str) -> bytes:
        return self._resources[digest]

    def append(self, version: int, put: Mapping[Table, Sequence[Any]]) -> bool:
        raise AssertionError("the past does not change")

    def lease(self, name: str, holder: str, at: int, until: int) -> bool:
        raise AssertionError("the past does not change")

    def begin_filling(self, task: str) -> None:
        raise AssertionError("the past does not change")

    def end_filling(self) -> None:
        raise AssertionError("the past does not change")

    def now(self) -> int:
        raise AssertionError("the past has no clock")
