"""Isolation: a batch that failed is carried out without the item that made it fail, so that no other suffers from it.

A run notes on the error which item it was carrying out, if it knows (`blame`); else the batch is halved until the item
stands alone. A failure of the store or the machine (`is_worlds`) is no item's fault: all of it is retried later.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from conjoin.errors import ConjoinError, TooMuchFollows

_T = TypeVar("_T")
_R = TypeVar("_R")
_NOTE = "conjoin_blame"


class Blame(NamedTuple):
    """What is known about an error of a run."""

    item: object = None
    """The request, or the delivery, that it was carrying out; None if it is not known."""
    key: int = 0
    """The part of it: what had fallen due, or the row of the inbox; 0 if it is not known."""
    is_committed: bool = False
    """The commit is there: nothing of it may be carried out again."""


def blame(error: BaseException, blame: Blame) -> None:
    """The first note counts: it was made nearest to the cause."""
    error.__dict__.setdefault(_NOTE, blame)


def blame_what_follows(error: BaseException) -> None:
    """Whatever was noted: the commit of the request is there, and this error came after it."""
    error.__dict__[_NOTE] = Blame(is_committed=True)


def blamed(error: BaseException) -> Blame:
    found: Blame = error.__dict__.get(_NOTE, Blame())
    return found


def is_worlds(error: BaseException) -> bool:
    """The store or the machine has failed, not the request."""
    return isinstance(error, (ConjoinError, OSError)) and not isinstance(error, TooMuchFollows)


def is_items(error: BaseException) -> bool:
    """It is the fault of the item, and nothing of it was done."""
    return not is_worlds(error) and not blamed(error).is_committed


def may_pass(error: BaseException) -> bool:
    """Consequences that have no end, or are too large, are so the next time, too."""
    return not isinstance(error, TooMuchFollows)


def isolated(
    run: Callable[[Sequence[_T]], _R],
    items: Sequence[_T],
    is_blamed: Callable[[_T, Blame], bool],
    first: Exception | None = None,
) -> Iterator[tuple[Sequence[_T], _R | Exception]]:
    """In their order: what came of some items, or why a single one cannot be carried out.

    `is_blamed` tells whether a run blames an item; `first` is the error with which all of them together have failed
    already. When the world fails, all that is left is answered with its error.
    """
    waiting: list[tuple[Sequence[_T], Exception | None, bool]] = [(items, first, False)]
    while waiting:
        some, error, is_final = waiting.pop()
        if not some:
            continue
        if error is None:
            try:
                result = run(some)
            except Exception as failed:  # noqa: BLE001 - whatever it was, it is one item's, and the others go on
                error = failed
            else:
                yield some, result
                continue
        if is_final or blamed(error).is_committed:
            yield some, error
            continue
        if is_worlds(error):
            yield [*some, *(one for rest, _, _ in reversed(waiting) for one in rest)], error
            return
        it = blamed(error)
        at = 0 if len(some) == 1 else next((number for number, one in enumerate(some) if is_blamed(one, it)), None)
        if at is None:
            middle = len(some) // 2
            waiting += [(some[middle:], None, False), (some[:middle], None, False)]
        else:
            waiting += [(some[at + 1 :], None, False), ([some[at]], error, True), (some[:at], None, False)]


def once_more(run: Callable[[Sequence[_T]], _R], some: Sequence[_T], error: Exception) -> _R | Exception:
    """What comes of an item that has failed: the failure may have been transient."""
    if not is_items(error) or not may_pass(error):
        return error
    try:
        return run(some)
    except Exception as again:  # noqa: BLE001 - the caller gets it
        return again


def carried_out(
    run: Callable[[Sequence[_T]], _R],
    items: Sequence[_T],
    is_blamed: Callable[[_T, Blame], bool],
    first: Exception | None = None,
) -> Iterator[tuple[Sequence[_T], _R | Exception]]:
    """What came of some items, or why a single one cannot be carried out. A failure of the world is raised."""
    for some, outcome in isolated(run, items, is_blamed, first):
        final = once_more(run, some, outcome) if isinstance(outcome, Exception) else outcome
        if isinstance(final, Exception) and not is_items(final):
            raise final
        yield some, final
