"""Isolation: a batch that failed is carried out without the item that made it fail; nobody suffers for another's item.

A run says on the error which item it was carrying out, if it knows (`blame`); else the batch is halved until the item
stands alone. What the store itself could not do (`is_worlds`) is nobody's fault: it is tried again later, as it is.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from conjoin.errors import ConjoinError, TooMuchFollows

_T = TypeVar("_T")
_R = TypeVar("_R")
_NOTE = "conjoin_blame"


class Blame(NamedTuple):
    """What is known about an error of a run."""

    item: Any = None
    """The request, or the delivery, that it was carrying out; None if it is not known."""
    key: int = 0
    """The part of it: what had fallen due, or the row of the inbox; 0 if it is not known."""
    is_committed: bool = False
    """The commit is there: nothing of it may be carried out again."""


def blame(error: BaseException, blame: Blame) -> None:
    """The first note counts: it was made nearest to the cause."""
    error.__dict__.setdefault(_NOTE, blame)


def blame_what_follows(error: BaseException) -> None:
    """Whatever was noted of it: the commit of what was asked is there, and this came after it."""
    error.__dict__[_NOTE] = Blame(is_committed=True)


def blamed(error: BaseException) -> Blame:
    found: Blame = error.__dict__.get(_NOTE, Blame())
    return found


def is_worlds(error: BaseException) -> bool:
    """The store or the machine has failed, not what was asked of it."""
    if isinstance(error, TooMuchFollows):
        return False
    return isinstance(error, (ConjoinError, OSError))


def isolated(
    run: Callable[[Sequence[_T]], _R],
    items: Sequence[_T],
    is_blamed: Callable[[_T, Blame], bool],
    first: Exception | None = None,
) -> Iterator[tuple[Sequence[_T], _R | Exception]]:
    """In their order: what came of some items, or why a single one cannot be carried out.

    `is_blamed` knows the item that a run blames; `first` is how all of them together have failed already. When the
    world fails, all that is left is answered with its error.
    """
    waiting: list[tuple[Sequence[_T], Exception | None, bool]] = [(items, first, False)]
    while waiting:
        some, error, is_final = waiting.pop()
        if not some:
            continue
        if error is None:
            result, error = _tried(run, some)
            if error is None:
                yield some, result  # type: ignore[misc]
                continue
        if is_final or blamed(error).is_committed:
            yield some, error
        elif is_worlds(error):
            yield [*some, *(one for rest, _, _ in reversed(waiting) for one in rest)], error
            return
        else:
            waiting += _parts(some, error, is_blamed)


def _tried(run: Callable[[Sequence[_T]], _R], some: Sequence[_T]) -> tuple[_R | None, Exception | None]:
    try:
        return run(some), None
    except Exception as error:  # noqa: BLE001 - whatever it was, it is one item's, and the others go on
        return None, error


def _parts(
    some: Sequence[_T], error: Exception, is_blamed: Callable[[_T, Blame], bool]
) -> list[tuple[Sequence[_T], Exception | None, bool]]:
    """What to try next; the last comes first."""
    it = blamed(error)
    at = 0 if len(some) == 1 else next((number for number, one in enumerate(some) if is_blamed(one, it)), None)
    if at is None:
        middle = len(some) // 2
        return [(some[middle:], None, False), (some[:middle], None, False)]
    return [(some[at + 1 :], None, False), ([some[at]], error, True), (some[:at], None, False)]
