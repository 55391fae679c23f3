"""Events as JSON lists, for the log: the name of the event, then its values by position.

Records are written as their keys: a message as the number it got, a subscription as its own. What the log says of an
instance is enough to tell its story again; what it says of messages names them.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.apply import APPLY as APPLY_CORRELATION
from conjoin.kernel.process import APPLY as APPLY_PROCESS
from conjoin.kernel.process import events as pe

_PATHS = {
    "message": ("message.key",),
    "subscription": ("subscription.key",),
    "holder": ("holder.key",),
    "start": ("start.process_id", "start.element_id"),
    "before": (),
}
"""What is written of a field that is a record."""
_TEXT_MESSAGES = (pe.JobFailed, pe.ErrorThrown)
"""Their `message` is a text."""
_ALL: tuple[type, ...] = (*APPLY_CORRELATION, *APPLY_PROCESS)


def _name(kind: type) -> str:
    """Both halves refuse commands; the names must differ."""
    return "OrderRefused" if kind is e.OrderRefused else kind.__name__


def _paths(kind: type) -> tuple[str, ...]:
    names = [field.name for field in fields(kind)]
    if kind in _TEXT_MESSAGES:
        return tuple(names)
    return tuple(path for name in names for path in _PATHS.get(name, (name,)))


def _values(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    paths = _paths(kind)
    get = attrgetter(*paths)
    return get if len(paths) > 1 else lambda event: (get(event),)


_PATHS_OF = {_name(kind): _paths(kind) for kind in _ALL}
_VALUES = {kind: (_name(kind), _values(kind)) for kind in _ALL}


def write_events(decided: Iterable[Any], into: list[tuple[Any, ...]]) -> None:
    """The events among what was decided; the orders that follow have events of their own."""
    known, append = _VALUES.get, into.append
    for event in decided:
        its = known(type(event))
        if its is not None:
            append((its[0], *its[1](event)))


def written_events(decided: Iterable[Any]) -> list[tuple[Any, ...]]:
    written: list[tuple[Any, ...]] = []
    write_events(decided, written)
    return written


class LoggedEvent:
    """An event of the log: its kind, and its values by name; records are their keys (`message`, `subscription`)."""

    __slots__ = ("kind", "values")

    def __init__(self, kind: str, values: dict[str, Any]) -> None:
        self.kind = kind
        self.values = values

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"


def read_event(said: list[Any]) -> LoggedEvent:
    kind, *values = said
    paths = (path.removesuffix(".key").replace(".", "_") for path in _PATHS_OF[kind])
    return LoggedEvent(kind, dict(zip(paths, values, strict=True)))
