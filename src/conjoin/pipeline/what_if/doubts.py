"""Doubts: from where on something would not have happened as it did, so that what depends on it is not known.

An instance is in doubt once it would have been given another message, or none. Message names are in doubt from then on,
as the instance may wait for them, or no longer. Within a shard commands are told apart by their number; between shards
only time tells, and what happened in the same instant counts as later.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from conjoin.pipeline.what_if.reach import ANY_NAME


class Doubt(NamedTuple):
    """After this command of this shard; `cause` is told to people."""

    at: int
    shard: int
    number: int
    cause: str

    def is_before(self, at: int, shard: int, number: int) -> bool:
        return number > self.number if shard == self.shard else at >= self.at


class Doubted(NamedTuple):
    """A doubt and what it is about: an instance with all that it calls (`root`), or a name under one key or all."""

    root: int
    is_void: bool
    """The instance would not have been started: all that it did is known not to have happened."""
    tenant_id: str
    name: str
    key: str | None
    doubt: Doubt


def about_root(tenant_id: str, root: int, doubt: Doubt, *, is_void: bool = False) -> Doubted:
    return Doubted(root, is_void, tenant_id, "", None, doubt)


def about_name(tenant_id: str, name: str, key: str | None, doubt: Doubt) -> Doubted:
    return Doubted(0, False, tenant_id, name, key, doubt)


Place = tuple[str, str, str | None]


class Doubts:
    """All that is known so far. It only grows, and of each thing the earliest of each shard counts."""

    def __init__(self) -> None:
        self.roots: dict[int, dict[int, Doubt]] = {}
        self.voids: dict[int, Doubt] = {}
        self.names: dict[Place, dict[int, Doubt]] = {}

    def add(self, said: Iterable[Doubted]) -> bool:
        """Answers whether anything of it was new."""
        new = [it for it in said if self._add(it)]
        return bool(new)

    def _add(self, said: Doubted) -> bool:
        if said.is_void:
            is_new = said.root not in self.voids
            self.voids.setdefault(said.root, said.doubt)
            return is_new
        place: Place = (said.tenant_id, said.name, said.key)
        known = self.roots.setdefault(said.root, {}) if said.root else self.names.setdefault(place, {})
        before = known.get(said.doubt.shard)
        if before is not None and before.number <= said.doubt.number:
            return False
        known[said.doubt.shard] = said.doubt
        return True

    def of_root(self, root: int) -> Iterable[Doubt]:
        return self.roots.get(root, {}).values()

    def is_void(self, root: int) -> bool:
        """What is in doubt for another reason, too, may have been started after all."""
        return root in self.voids and root not in self.roots

    def of_name(self, tenant_id: str, name: str, key: str) -> Iterator[Doubt]:
        for place in ((tenant_id, name, None), (tenant_id, ANY_NAME, None), (tenant_id, name, key)):
            yield from self.names.get(place, {}).values()
        yield from self.names.get((tenant_id, ANY_NAME, key), {}).values()

    def __len__(self) -> int:
        return len(self.roots) + len(self.voids) + len(self.names)
