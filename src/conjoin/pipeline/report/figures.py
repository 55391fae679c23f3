"""The figures of a report: small rows, each of one message name. They are all that is collected from Spark.

`name` is None for all names beyond the busiest. Instants are microseconds, durations milliseconds; counts of ages and
of savings stand in the order of `AGES_MS` and `LADDER_MS`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeVar

Name = str | None
_S, _MIN, _H, _D = 1_000, 60_000, 3_600_000, 86_400_000

AGES_MS = (_MIN, 10 * _MIN, _H, 6 * _H, _D, 7 * _D)
"""Ages are counted below each of these, and one more: the rest."""
LADDER_MS = (
    *(_S, 5 * _S, 15 * _S, 30 * _S, _MIN, 2 * _MIN, 5 * _MIN, 10 * _MIN, 15 * _MIN, 30 * _MIN),
    *(_H, 2 * _H, 6 * _H, 12 * _H, _D, 2 * _D, 3 * _D, 7 * _D, 14 * _D, 30 * _D, 90 * _D),
)
"""Times to live that are tried: round ones, as people set them."""
ARRIVED = ("lost", "kept", "taken", "other_key", "nothing")
"""What is known to have arrived for one who waits, from what can be mended by publishing it again."""


class Volume(NamedTuple):
    """How many messages, and how many subscriptions that are open."""

    name: Name
    messages: int
    waiting: int


class Hourly(NamedTuple):
    """Messages that were published from this instant on for the width of the report."""

    name: Name
    at_us: int
    verdict: str
    reason: str
    messages: int


class BufferedFigures(NamedTuple):
    """Messages that nobody has taken yet. Those that are overdue expire with the next tick."""

    name: Name
    ages: tuple[int, ...]
    overdue: int
    median_ms: int
    oldest_ms: int


class HotKey(NamedTuple):
    name: Name
    tenant_id: str
    key: str
    messages: int
    correlated: int
    lost: int


class Waited(NamedTuple):
    """Messages that came early, were kept and taken."""

    name: Name
    messages: int
    median_ms: int
    most_ms: int
    """Nineteen of twenty waited no longer."""
    longest_ms: int


class LostFigures(NamedTuple):
    """Messages that a longer time to live might have saved, and how many it would have, at least."""

    name: Name
    messages: int
    had_ms: int
    """The time to live that half of them had, or less."""
    saved: tuple[int, ...]


class Waiting(NamedTuple):
    """Who waits, by age, with what has arrived for them."""

    name: Name
    process_id: str
    element_id: str
    arrived: str
    ages: tuple[int, ...]
    long: int
    """Longer than the report asks about."""


class LongWait(NamedTuple):
    name: Name
    process_id: str
    element_id: str
    instance_key: int
    tenant_id: str
    key: str
    since_us: int
    arrived: str


@dataclass(frozen=True, slots=True)
class ReportFigures:
    as_of_us: int
    older_than_ms: int
    width_us: int
    """Of what `hourly` counts: an hour, or more where it would be too many of them."""
    active: int
    incidents: int
    volumes: tuple[Volume, ...]
    hourly: tuple[Hourly, ...]
    kept: tuple[BufferedFigures, ...]
    hot_keys: tuple[HotKey, ...]
    waited: tuple[Waited, ...]
    lost: tuple[LostFigures, ...]
    waiting: tuple[Waiting, ...]
    long_waits: tuple[LongWait, ...]

    def only(self, name: Name) -> "ReportFigures":
        """Those of one name."""
        rows = {field.name: getattr(self, field.name) for field in fields(self)}
        its: dict[str, Any] = {
            field: tuple(row for row in found if row.name == name)
            for field, found in rows.items()
            if isinstance(found, tuple)
        }
        return replace(self, **its)

    def verdicts(self) -> dict[str, int]:
        return added((row.verdict, row.messages) for row in self.hourly)


What = TypeVar("What")


def added(counts: Iterable[tuple[What, int]]) -> dict[What, int]:
    """Counts of the same thing together, in the order in which they come first."""
    found: dict[What, int] = {}
    for what, count in counts:
        found[what] = found.get(what, 0) + count
    return found


def columns_added(rows: Iterable[tuple[int, ...]], width: int) -> tuple[int, ...]:
    """Tuples of counts, place by place."""
    return tuple(map(sum, zip(*rows, strict=True))) or (0,) * width
