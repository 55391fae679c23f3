"""The catalog of a store, a part of the port: definitions and policies, only appended, under one version number.

Its statements are shared by both databases, each of which runs them by name.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from conjoin.errors import StoreDamaged, StoreUnfinished
from conjoin.store import schema
from conjoin.store import tables as t
from conjoin.store.rows import DefinitionRow, PolicyRow
from conjoin.store.tables import Table

LONGEST_LEASE_US = 24 * 3_600 * 1_000_000
"""One that ends later was taken when a clock was wrong, and is ignored."""
_FILLING = "filling"

CATALOG_QUERIES: dict[str, str] = {
    "facts": "select shards, profile, unique_business_ids from facts",
    "write_facts": "insert into facts (shards, profile, unique_business_ids) values ({p}, {p}, {p})",
    "first_version": "insert into catalog (version) values (0)",
    "version": "select version from catalog",
    "move_version": "update catalog set version = version + 1 where version = {p}",
    "resource": "select content from resource where digest = {p}",
    "definitions": f"select {', '.join(t.DEFINITION.columns)} from definition"
    " where catalog_version > {p} order by catalog_version, key",
    "policies": f"select {', '.join(t.POLICY.columns)} from policy"
    " where catalog_version > {p} order by catalog_version, name",
    # One row touched: it was free, over or the holder's own. None: another holder has it.
    "lease": "insert into lease (name, holder, until) values ({p}, {p}, {p}) on conflict (name) do update"
    " set holder = excluded.holder, until = excluded.until"
    f" where lease.until <= {{p}} or lease.until > {{p}} + {LONGEST_LEASE_US} or lease.holder = excluded.holder",
    # A store that is being filled is marked by a lease that is never taken.
    "begin_filling": f"insert into lease (name, holder, until) values ('{_FILLING}', {{p}}, 0)"
    " on conflict (name) do update set holder = excluded.holder",
    "end_filling": f"delete from lease where name = '{_FILLING}'",
    "filling": f"select holder from lease where name = '{_FILLING}'",
}


class CatalogStore(ABC):
    place: str
    """The file or address, for errors."""

    @abstractmethod
    def _read(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def _write(self, statement: str, *parameters: Any) -> int:
        """In a transaction of its own; answers how many rows were touched."""

    def version(self) -> int:
        found = self._read("version")
        if not found:
            raise StoreDamaged(self.place, "the version of the catalog is not there")
        return int(found[0][0])

    @abstractmethod
    def append(self, version: int, put: Mapping[Table, Sequence[Any]]) -> bool:
        """Rows of version `version + 1`. False: the catalog has moved on meanwhile; nothing was written."""

    @abstractmethod
    def now(self) -> int:
        """The clock of the store, which is the same for all machines that share it; for leases."""

    def definitions(self, after: int = 0) -> Sequence[DefinitionRow]:
        """Those of later catalog versions, oldest first."""
        return list(map(DefinitionRow._make, self._read("definitions", after)))

    def policies(self, after: int = 0) -> Sequence[PolicyRow]:
        return list(map(PolicyRow._make, self._read("policies", after)))

    def resource(self, digest: str) -> bytes:
        found = self._read("resource", digest)
        if not found:
            raise StoreDamaged(self.place, f"the resource {digest} is not there")
        return bytes(found[0][0])

    def lease(self, name: str, holder: str, at: int, until: int) -> bool:
        """A lock for periodic work: taken if it is free, over, already ours, or longer than any of us would take."""
        return self._write("lease", name, holder, until, at, at) == 1

    def begin_filling(self, task: str) -> None:
        """From here on the store is incomplete, and is not opened again (StoreUnfinished) until `end_filling`."""
        self._write("begin_filling", task)

    def end_filling(self) -> None:
        self._write("end_filling")

    def _facts(self) -> tuple[int, str, int, bool] | None:
        """None in a store that was not made to its end. One that was not filled to its end is refused."""
        found = self._read("facts")
        if not found:
            return None
        filling = self._read("filling")
        if filling:
            raise StoreUnfinished(self.place, filling[0][0])
        shards, profile, unique_business_ids = found[0]
        if not isinstance(shards, int) or shards < 1 or not isinstance(profile, str):
            raise StoreDamaged(self.place, f"its facts cannot be: shards {shards!r}, profile {profile!r}")
        return shards, profile, schema.VERSION, bool(unique_business_ids)
