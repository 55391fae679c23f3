"""Evidence: what was near when a message was lost, kept with it. It does not drift; what is near now is shown apart.

A look takes 10 to 20 ms, so it is no part of a commit: whoever explains a lost message anyway notes what was found, and
a server looks behind the commits (`keeping.py`). Invariant: at most `MOST_BYTES` each, and no variables.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from conjoin.kernel.verdicts.ranking import MOST_TOLD, Miss
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_bytes, json_text, read_json
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.explain.explanation import LOST, Explanation
from conjoin.runtime.visibility.scope import EVERYTHING
from conjoin.store.rows import EvidenceRow

MOST_BYTES = 600
NOTHING_KEPT = ""
"""Seen, and not to be looked at again; what it was is not kept."""
_LONGEST_TEXTS = (60, 24, 8)
_NEVER_CUT = ("kind", "process", "name", "tenant", "similar", "computed")
"""By these it is decided who may see it."""
_DRIFTING = ("usual_ms",)
_log = logging.getLogger(__name__)


def written(misses: Sequence[Miss]) -> str:
    """As JSON: the likeliest that fit, with long texts cut."""
    kept: list[Miss] = []
    for miss in misses[:MOST_TOLD]:
        fitting = (it for it in _shorter_and_shorter(miss) if len(json_bytes([*kept, it])) <= MOST_BYTES)
        found = next(fitting, None)
        if found is None:
            break
        kept.append(found)
    return json_text(kept) if kept or not misses else NOTHING_KEPT


def _shorter_and_shorter(miss: Miss) -> Iterator[Miss]:
    yield miss
    for longest in _LONGEST_TEXTS:
        short = {name: it if name in _NEVER_CUT else _cut(it, longest) for name, it in miss.items()}
        yield {**short, "cut": True}


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, (list, tuple)):
        return [_cut(it, longest) for it in value[:MOST_TOLD]]
    return f"{value[:longest]}…" if isinstance(value, str) and len(value) > longest else value


def read(row: EvidenceRow | None) -> list[Mapping[str, Any]] | None:
    """None: there is no evidence."""
    return None if row is None or row.near == NOTHING_KEPT else list(read_json(row.near))


def are_the_same(then: Sequence[Miss], now: Sequence[Miss]) -> bool:
    """Whether it goes without saying what is near now."""
    return _lasting(then) == _lasting(read_json(written(now) or "null"))


def _lasting(misses: Sequence[Miss] | None) -> list[dict[str, Any]] | None:
    if misses is None:
        return None
    return [{name: it for name, it in miss.items() if name not in _DRIFTING} for miss in misses]


def row_of(found: Explanation) -> EvidenceRow | None:
    """What was found just now about a lost message, to be kept."""
    key, at = found.message.key, found.seen_at
    if found.verdict not in LOST or key is None or at is None or found.was_kept:
        return None
    return EvidenceRow(key, at, written(found.near_misses), 0, 0)


def note(broker: Broker, found: Explanation) -> None:
    """To be kept soon. If nothing was near, a closer look may still find something, and what somebody may not see would
    be missing for all.
    """
    row = row_of(found) if found.near_misses and broker.scope is EVERYTHING else None
    if row is not None:
        broker.noted_evidence.append((found.message.correlation_key, row))


def keep_noted(broker: Broker) -> None:
    """What was noted; an error is logged, since what it is about was committed long ago."""
    noted = broker.noted_evidence
    try:
        keep(broker, [noted.popleft() for _ in range(len(noted))])
    except Exception:  # noqa: BLE001 - the message is published, and whoever sent it must not send it again
        _log.exception("what was near to lost messages is not kept")


def keep(broker: Broker, found: Iterable[tuple[str, EvidenceRow]]) -> None:
    """Each with the correlation key of its message."""
    by_shard: dict[int, list[EvidenceRow]] = {}
    for key, row in found:
        by_shard.setdefault(shard_of(key, broker.shard_count), []).append(row)
    for shard, rows in by_shard.items():
        with closing(broker.store.shard(shard).reader()) as reader:
            reader.keep_evidence(rows)
