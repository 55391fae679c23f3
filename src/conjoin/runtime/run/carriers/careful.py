"""Careful runs, for whoever has no thread a shard: the tasks of Spark, and the post.

A batch that fails by the fault of one item is carried out without it, as `inline.py` does it; what the store could not
do is raised. Invariant: everything that is not yielded as an error was committed once, in its order.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.ingest.requests import not_carried_out
from conjoin.runtime.ingest.rows import SourcePosition
from conjoin.runtime.run.batches import Batch, Commit, Origin
from conjoin.runtime.run.isolation import Blame, blamed, isolated
from conjoin.runtime.run.set_aside import may_pass
from conjoin.runtime.run.sweeping import is_items, mail_set_aside
from conjoin.store.rows import OutboxRow

Run = Callable[[Batch], Commit]
"""One commit on a shard."""
Mail = Sequence[tuple[int, OutboxRow]]
_T = TypeVar("_T")
_R = TypeVar("_R")


class SourceRow(NamedTuple):
    """A request that a row of a source has become. `noted` are the part and place that its commit notes."""

    request: Any
    noted: tuple[str, int]
    at: SourcePosition
    """Where the row stands, for whoever reads its dead letter."""


def carried_out(
    run: Callable[[Sequence[_T]], _R], items: Sequence[_T], is_blamed: Callable[[_T, Blame], bool]
) -> Iterator[tuple[Sequence[_T], _R | Exception]]:
    """What came of some items, or why a single one cannot be carried out."""
    for some, outcome in isolated(run, items, is_blamed):
        yield some, _once_more(run, some, outcome) if isinstance(outcome, Exception) else outcome


def _once_more(run: Callable[[Sequence[_T]], _R], some: Sequence[_T], error: Exception) -> _R | Exception:
    """It may have been a passing trouble."""
    if not is_items(error):
        raise error
    if not may_pass(error):
        return error
    try:
        return run(some)
    except Exception as again:
        if not is_items(again):
            raise
        return again


def take_mail(run: Run, mail: Mail) -> Iterator[tuple[Mail, Commit]]:
    """What other shards have sent; what cannot be carried out is set aside."""
    for some, done in carried_out(lambda them: run(Batch(deliveries=them)), mail, lambda one, it: one is it.item):
        if isinstance(done, Exception):
            [(sender, row)] = some
            done = run(Batch([mail_set_aside(sender, row, done)]))
        yield some, done


def take_source_rows(run: Run, source: str, rows: Sequence[SourceRow]) -> Iterator[tuple[Sequence[SourceRow], Commit]]:
    """Rows in as many commits as it takes; one that cannot be carried out is kept as a dead letter."""
    together = _together(run, source)
    for some, done in carried_out(together, rows, lambda row, it: row.request is it.item):
        if isinstance(done, Exception):
            some = [_dead(row, done) for row in some]
            done = together(some)
        yield some, done


def take_as_one(
    run: Run, rehearse: Callable[[Batch], None], source: str, rows: Sequence[SourceRow]
) -> tuple[Sequence[SourceRow], Commit]:
    """Rows in one commit, whichever of them have become dead letters; `rehearse` does all of a run but the commit."""
    together, rows = _together(run, source), list(rows)
    rehearsed = _together(rehearse, source)
    while True:
        try:
            return rows, together(rows)
        except Exception as error:
            culprit = _culprit(rehearsed, rows, error) if is_items(error) else None
            if culprit is None or type(rows[culprit].request) is DeadLetter:
                raise
            rows[culprit] = _dead(rows[culprit], error)


def _culprit(
    rehearsed: Callable[[Sequence[SourceRow]], None], rows: Sequence[SourceRow], error: Exception
) -> int | None:
    """The one that is blamed; else the last of the shortest beginning that fails, too. None: there is none."""
    item = blamed(error).item
    known = next((number for number, row in enumerate(rows) if row.request is item), None)
    if known is not None or not _fails(rehearsed, rows):
        return known
    works, fails = 0, len(rows)
    while fails - works > 1:
        middle = (works + fails) // 2
        if _fails(rehearsed, rows[:middle]):
            fails = middle
        else:
            works = middle
    return fails - 1


def _fails(rehearsed: Callable[[Sequence[SourceRow]], None], rows: Sequence[SourceRow]) -> bool:
    try:
        rehearsed(rows)
    except Exception as error:
        if not is_items(error):
            raise
        return True
    return False


def _together(run: Callable[[Batch], _R], source: str) -> Callable[[Sequence[SourceRow]], _R]:
    def together(rows: Sequence[SourceRow]) -> _R:
        return run(Batch([row.request for row in rows], origin=Origin(source, [row.noted for row in rows])))

    return together


def _dead(row: SourceRow, error: Exception) -> SourceRow:
    return row._replace(request=not_carried_out(row.request, row.at, error))
