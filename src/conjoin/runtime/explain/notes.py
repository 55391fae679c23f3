"""What stands beside an explanation: another message that it is about, and who ever waits for the name at all.

A lock is told with its holder: since when it is held, and where the holder stands. Nothing is decided here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.kernel.verdicts.ranking import Miss
from conjoin.runtime.codec.instances import WrittenElement, children_of
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.explain.key_view import KeyView
from conjoin.runtime.explain.similar import Listener
from conjoin.store import tables as t
from conjoin.store.port import Store
from conjoin.store.rows import InstanceRow

_MOST = 10
_HELD = ("lock_held", "business_id_held")


class Related(NamedTuple):
    """Another message, and what became of it. `relation` is `first`: the one whose id a refused one has; `replaced_by`
    or `replaces`: one was sent in place of the other.
    """

    relation: str
    message: int
    verdict: str
    reason: str
    sentence: str


class Nobody(NamedTuple):
    """Who waits for the name at all. Where that was necessary, so many of the `newest` instances were looked
    into; not all of them, if that `is_cut`.
    """

    awaited_by: Sequence[Mapping[str, Any]]
    computed_by: Sequence[str]
    last_similar: Mapping[str, Any] | None
    newest: int | None
    is_cut: bool = False


def nobody_in_words(found: Mapping[str, Any], name: str) -> Iterator[str]:
    """The same in sentences; `found` as JSON has it."""
    places = [f"process {it['process']} at {it['element']} ({_versions(it['versions'])})" for it in found["awaited_by"]]
    if places:
        yield f"{name!r} is awaited by {', '.join(places)}"
    elif not found["computed_by"]:
        yield f"{name!r} is awaited by no process that is deployed"
    if found["computed_by"]:
        yield f"process {', '.join(found['computed_by'])} computes the name that it waits for"
    last = found["last_similar"]
    if last is not None:
        who = f"process {last['process']} (instance {last['instance']})"
        yield f"the last to wait for it with a similar key, {last['key']!r}, was {who}, until {last['closed_at']}"
    if found["newest"]:
        newest = f"the newest {found['newest']:,} instances of the store that are active, have work or a timer"
        if found.get("is_cut"):
            yield f"looked into some of {newest}, but not all: they are too large or too many"
        else:
            yield f"looked into {newest}: none has this key and will wait for it"


def _versions(versions: Sequence[int]) -> str:
    return f"version {versions[0]}" if len(versions) == 1 else f"versions {versions[0]} to {versions[-1]}"


def awaited_by(listeners: Sequence[Listener], sees: Callable[[str], bool]) -> list[dict[str, Any]]:
    """By process and element, with the versions."""
    found: dict[tuple[str, str], list[int]] = {}
    for it in listeners:
        if it.name is not None and sees(it.definition.process_id):
            found.setdefault((it.definition.process_id, it.element.id), []).append(it.definition.version)
    some = list(found.items())[:_MOST]
    return [
        {"process": process, "element": element, "versions": sorted(versions)} for (process, element), versions in some
    ]


def computed_by(listeners: Sequence[Listener], sees: Callable[[str], bool]) -> list[str]:
    return list(
        {it.definition.process_id: None for it in listeners if it.name is None and sees(it.definition.process_id)}
    )


def with_holders(store: Store, view: KeyView, misses: Sequence[Miss]) -> list[Miss]:
    """The near misses with what is known of who holds a key or an id."""
    holders = tuple(miss["instance"] for miss in misses if miss["kind"] in _HELD and isinstance(miss["instance"], int))
    if not holders:
        return list(misses)
    rows = {row.key: row for row in store.rows(t.INSTANCE, {"key": holders}, None, len(holders))}
    return [_with_holder(view, rows.get(miss["instance"]), miss) if miss["kind"] in _HELD else miss for miss in misses]


def _with_holder(view: KeyView, row: InstanceRow | None, miss: Miss) -> Miss:
    if row is None:
        return miss
    lock = view.space.locks.get(row.process_id) if miss["kind"] == "lock_held" else None
    since = row.started_at if lock is None else lock.since
    definition = view.deployed.definitions.by_key.get(row.definition_key)
    elements = definition.plan.elements if definition is not None else {}
    ids = _resting(WrittenElement(*read_json(row.body)))
    names = [elements[it].name or it if it in elements else it for it in dict.fromkeys(ids)]
    return {**miss, "since_at": since, "at": names[:_MOST]}


def _resting(it: WrittenElement) -> Iterator[str]:
    for child in children_of(it):
        inside = list(_resting(child))
        yield from inside or [child.element_id]
