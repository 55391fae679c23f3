"""Who waits for a name with nearly this key: looked up, never searched for.

Other ways to write the key, and all keys that are one slip away, are looked up in the index of those who wait. How keys
are written here (which prefix, how many digits) is learned from a sample of them, taken at a few places of the index.
So the cost does not grow with those who wait. What counts as near, the kernel says.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from conjoin.kernel.verdicts.near_misses import NearMiss
from conjoin.kernel.verdicts.nearest import nearest
from conjoin.kernel.verdicts.similar_keys import (
    LONGEST,
    OTHERWISE,
    Awaited,
    cases_of,
    compared,
    difference_of,
    folded,
    other_key,
    variants,
)
from conjoin.kernel.verdicts.slips import floors, neighbours
from conjoin.runtime.codec.instance_waits import NO_WAITS
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.explain.shard_views import ShardViews
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import WaitingRow

_SAMPLED, _AT_A_PLACE = 240, 12
_OF_A_KEY, _AROUND, _BEGINNING, _PART, _MOST_CUT = 4, 12, 8, 5, 40
_LAST = "\U0010ffff"
_FAMILY = re.compile(r"[^\d]*")
_DIGITS = re.compile(r"\d+")
_MOST_NUMBERS, _LONGEST_SHAPE = 4, 64


class Stopped(NamedTuple):
    """Somebody who waited, until when, and for which name."""

    at: int
    row: WaitingRow
    name: str


class AwaitedKeys:
    """Of one tenant and message name."""

    def __init__(self, shards: ShardViews, tenant_id: str, name: str) -> None:
        self._shards = shards
        self._tenant_id = tenant_id
        self._name = folded(name)
        self._plain_name = name
        self._seen: dict[tuple[int, str, int], WaitingRow] = {}
        self._sampled: list[WaitingRow] | None = None
        self._stopped: list[Stopped] = []
        self.stopped_similar: list[Stopped] = []
        """Those who waited for the name with a similar key."""

    def sample(self) -> list[WaitingRow]:
        """Some of those who wait, for whatever, and of those who have stopped."""
        if self._sampled is None:
            self._sampled = [row for snapshot in self._shards.all() for row in self._sample(snapshot)]
        return self._sampled

    def near(self, key: str) -> list[NearMiss]:
        """The nearest first."""
        self._note(self.sample())
        wanted = dict.fromkeys(variants(key))
        if len(key) <= LONGEST:
            wanted |= dict.fromkeys((*self._as_others_are(key), *_slips(key), *_ends_cut(key)))
        by_shard: dict[int, list[str]] = {}
        for other in wanted:
            if other != key:
                by_shard.setdefault(shard_of(other, len(self._shards.indexes)), []).append(other)
        for index in self._shards.indexes:
            snapshot = self._shards.of(index)
            if snapshot is not None:
                self._note(snapshot.waiting_on(self._tenant_id, by_shard.get(index, ()), _OF_A_KEY))
                self._note(self._beginning_alike(snapshot, key))
        its = compared(key)
        self.stopped_similar = [
            it for it in self._stopped if difference_of(its, compared(it.row.correlation_key)) != OTHERWISE
        ]
        in_order = sorted(self._seen.values(), key=lambda row: (row.opened_at, row.instance_key))
        awaited = [
            Awaited(row.name, row.correlation_key, row.process_id, row.instance_key, row.element_id) for row in in_order
        ]
        found = nearest(key, awaited, self._around(key))
        return [other_key(self._plain_name, key, it, differs) for differs, it in found]

    def _note(self, rows: Iterable[WaitingRow]) -> None:
        """Those that wait for the name now, and those that have."""
        for row in rows:
            if row.closed_waits != NO_WAITS:
                waits = read_json(row.closed_waits)
                self._stopped += [Stopped(at, row, name) for _, name, *_, at in waits if folded(name) == self._name]
            if row.wait_key and folded(row.name) == self._name:
                self._seen.setdefault((row.instance_key, row.element_id, row.wait_key), row)

    def _sample(self, snapshot: ShardSnapshot) -> list[WaitingRow]:
        """Some at each of a few places: after those whose keys begin alike, it goes on behind all that do."""
        found: list[WaitingRow] = []
        after, most = "", max(_SAMPLED // len(self._shards.indexes), 5 * _AT_A_PLACE)
        while len(found) < most:
            rows = snapshot.waiting_from(self._tenant_id, after, _AT_A_PLACE)
            found += rows
            if len(rows) < _AT_A_PLACE:
                break
            after = _behind(rows[0].correlation_key, rows[_AT_A_PLACE - 1].correlation_key)
        return found

    def _as_others_are(self, key: str) -> Iterator[str]:
        """The numbers in the key with the words, separators and zeros of those who wait; and the key in their case."""
        numbers = _DIGITS.findall(key)
        if 0 < len(numbers) <= _MOST_NUMBERS:
            shapes = {_shape_of(row.correlation_key): None for row in self.sample()}
            yield from (_filled(shape, numbers) for shape in shapes if len(shape) == len(numbers) + 1)
        yield from cases_of(key.strip())

    def _beginning_alike(self, snapshot: ShardSnapshot, key: str) -> list[WaitingRow]:
        """Keys that begin as this one does: it may be their beginning, or have a slip further on."""
        begin = key.strip()[:_BEGINNING]
        if len(begin) < _PART:
            return []
        rows = snapshot.waiting_from(self._tenant_id, begin, _AROUND)
        rows += snapshot.waiting_from(self._tenant_id, key.strip(), _OF_A_KEY)
        return [row for row in rows if row.correlation_key.startswith(begin)]

    def _around(self, key: str) -> Callable[[str], list[str]]:
        """Who stands near another key, in the order of the keys: as far as it takes to see how near others stand."""

        def around(other: str) -> list[str]:
            found = {row.correlation_key for row in self.sample()}
            for begin in floors(other, key):
                found.update(self._after(begin))
                if len(found - {key, other}) >= _AROUND:
                    break
            return sorted(found)

        return around

    def _after(self, begin: str) -> list[str]:
        rows = (row for it in self._shards.all() for row in it.waiting_from(self._tenant_id, begin, _AROUND))
        return [row.correlation_key for row in rows]


Shape = tuple[tuple[str, int], ...]
"""What stands before each number of a key, and how wide the number is if it is filled up with zeros; last its end."""


def _shape_of(key: str) -> Shape:
    parts = _DIGITS.split(key[:_LONGEST_SHAPE])
    numbers = [*_DIGITS.findall(key[:_LONGEST_SHAPE]), ""]
    return tuple((text, len(it) if it.startswith("0") else 0) for text, it in zip(parts, numbers, strict=True))


def _filled(shape: Shape, numbers: Sequence[str]) -> str:
    plain = (it.lstrip("0") or "0" for it in (*numbers, ""))
    return "".join(text + it.zfill(width) for (text, width), it in zip(shape[:-1], plain, strict=False)) + shape[-1][0]


def _behind(first: str, last: str) -> str:
    """Where keys begin that begin otherwise than these do; the last of these, if they have no beginning in common."""
    families = [_FAMILY.match(key) for key in (first, last)]
    family = [it[0] if it else "" for it in families]
    if family[0] == family[1]:
        return (family[0] or first[:1]) + _LAST if family[0] or first[:1] == last[:1] else last
    return last


def _slips(key: str) -> list[str]:
    """Of the key as it is, and in small letters: who types in capitals makes mistakes, too."""
    bare = key.strip()
    return [*neighbours(bare), *(neighbours(bare.lower()) if bare.lower() != bare else ())]


def _ends_cut(key: str) -> Sequence[str]:
    """Its own beginnings: who waits may have lost the end of it."""
    bare = key.strip()
    lengths = [it for it in range(_PART, len(bare)) if it >= _BEGINNING or not bare[it].isalnum()]
    return [bare[:length] for length in lengths[-_MOST_CUT:]]
