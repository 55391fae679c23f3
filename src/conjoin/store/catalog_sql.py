"""The catalog's statements, which both databases share, and its reads made of them."""

from collections.abc import Sequence
from typing import Any

from conjoin.errors import StoreDamaged
from conjoin.store import tables as t
from conjoin.store.port import Facts
from conjoin.store.rows import DefinitionRow, PolicyRow

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
    # One row touched: it was free, over or the holder's own. None: somebody else has it.
    "lease": "insert into lease (name, holder, until) values ({p}, {p}, {p}) on conflict (name) do update"
    " set holder = excluded.holder, until = excluded.until"
    " where lease.until <= {p} or lease.holder = excluded.holder",
}


class CatalogReads:
    """The reading half of a `CatalogStore`, on whatever answers `_read` with the name of a statement."""

    place: str
    """The file or address, for errors."""

    def _read(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def version(self) -> int:
        return int(self._read("version")[0][0])

    def definitions(self, after: int = 0) -> Sequence[DefinitionRow]:
        return list(map(DefinitionRow._make, self._read("definitions", after)))

    def policies(self, after: int = 0) -> Sequence[PolicyRow]:
        return list(map(PolicyRow._make, self._read("policies", after)))

    def resource(self, digest: str) -> bytes:
        found = self._read("resource", digest)
        if not found:
            raise StoreDamaged(self.place, f"the resource {digest} is not there")
        return bytes(found[0][0])

    def _facts(self, schema: int) -> Facts | None:
        """None in a store that was not made to its end."""
        found = self._read("facts")
        if not found:
            return None
        shards, profile, unique_business_ids = found[0]
        return Facts(shards, profile, schema, bool(unique_business_ids))
