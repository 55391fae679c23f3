"""What a running expression has: the variables it sees, the command's time, and how much it may still do.

A closure takes a scope and a frame. What is inside of a loop or of a function is paid for each time it runs, by its
size, which is known when it is compiled; what depends on values is paid where it is done.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conjoin.feel.budget import MOST_BYTES, MOST_WORK, Budget
from conjoin.feel.errors import BudgetSpent

DEEPEST_CALLS = 40
"""How deep functions may call each other; the same on every stack, so that a replay sees the same."""


class Frame(Budget):
    """One evaluation: its time, and the budget of everything it does."""

    __slots__ = ("now", "calls")

    def __init__(self, now: int) -> None:
        self.work_left = MOST_WORK
        self.bytes_left = MOST_BYTES
        self.now = now
        self.calls = 0

    def enter_call(self) -> None:
        self.calls += 1
        if self.calls > DEEPEST_CALLS:
            raise BudgetSpent(f"its functions call each other more than {DEEPEST_CALLS} levels deep")


class Unmetered(Frame):
    """For an expression that looks at each of its variables once: a lookup, a path of few steps."""

    __slots__ = ()

    def work(self, units: int) -> None: ...

    def build(self, size: int) -> None: ...

    def spend(self, units: int, size: int) -> None: ...


@dataclass(slots=True, eq=False)
class NameScope:
    """Names of an inner block over those around it: parameters, earlier entries of a context."""

    inner: Mapping[str, Any]
    outer: "Variables"

    def get(self, name: str) -> Any:
        return self.inner[name] if name in self.inner else self.outer.get(name)


@dataclass(slots=True, eq=False)
class VariableScope:
    """One name over those around it: the variable of a loop. Made in each iteration, so it has no dict."""

    name: str
    value: Any
    outer: "Variables"

    def get(self, name: str) -> Any:
        return self.value if name == self.name else self.outer.get(name)


@dataclass(slots=True, eq=False)
class ItemScope:
    """Inside a filter: the entries of the item, then the item itself as `item`, then what is around."""

    item: Mapping[str, Any]
    outer: "Variables"

    def get(self, name: str) -> Any:
        if name in self.item:
            return self.item[name]
        return self.item if name == "item" else self.outer.get(name)


Variables = Mapping[str, Any] | NameScope | VariableScope | ItemScope
Closure = Callable[[Variables, Frame], Any]
