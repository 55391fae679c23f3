"""How far sources were read, when shards are put together in another way.

A position says what one shard has taken; its keys may now be on any shard. So all must have come equally far, or the
one who stopped the sources must say that they had finished: then what a shard lacks it had nothing to do with, and the
furthest position holds for all. Anything else would take rows twice, or lose them.
"""

from collections.abc import Iterable, Sequence

from conjoin.errors import InputError
from conjoin.runtime.engine.key_homes import SOURCE as GENERATIONS
from conjoin.runtime.inbox.requests import RULES_SOURCE as INBOX
from conjoin.runtime.notices.sources import SOURCE as NOTICES
from conjoin.runtime.run.peek import SOURCE as CATALOG
from conjoin.runtime.upkeep.retention import SOURCE as RETENTION
from conjoin.store.rows import PositionRow


def merged_positions(shards: Sequence[Iterable[PositionRow]], ingest_is_done: bool) -> list[PositionRow]:
    reached: dict[tuple[str, str], list[str]] = {}
    for rows in shards:
        for row in rows:
            if row.source not in (GENERATIONS, INBOX, NOTICES):
                reached.setdefault((row.source, row.part), []).append(row.position)
    problems, merged = [], []
    for (source, part), positions in sorted(reached.items()):
        equal = len(positions) == len(shards) and len(set(positions)) == 1
        if source == CATALOG and not equal:
            problems.append("not every shard has seen what was deployed last: run conjoin store tick first")
        elif source not in (CATALOG, RETENTION) and not equal and not ingest_is_done:
            problems.append(_uneven(source, part))
        merged.append(PositionRow(source, part, max(positions, key=_how_far)))
    if problems:
        raise InputError(problems)
    return merged


def _how_far(position: str) -> tuple[int, str]:
    """Numbers as numbers, other texts as they sort."""
    return (int(position), "") if position.isdecimal() else (0, position)


def _uneven(source: str, part: str) -> str:
    return (
        f"{source}: {part} was not read equally far on every shard: let the ingest finish its last batch and stop it,"
        " then say --ingest-done"
    )
