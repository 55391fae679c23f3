"""What a running expression has: the variables it sees, the command's time, and how much it may still do.

A closure takes a scope and a frame. What is inside of a loop or of a function is paid for each time it runs, by its
size, which is known when it is compiled; what depends on values is paid where it is done.
"""

from collections.abc import Callable, Mapping
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


class NameScope:
    """Names of an inner block over those around it: parameters, earlier entries of a context."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, inner: Mapping[str, Any], outer: "Variables") -> None:
        self._inner = inner
        self._outer = outer

    def get(self, name: str) -> Any:
        return self._inner[name] if name in self._inner else self._outer.get(name)


class VariableScope:
    """One name over those around it: the variable of a loop. Made in each iteration, so it has no dict."""

    __slots__ = ("_name", "_value", "_outer")

    def __init__(self, name: str, value: Any, outer: "Variables") -> None:
        self._name = name
        self._value = value
        self._outer = outer

    def get(self, name: str) -> Any:
        return self._value if name == self._name else self._outer.get(name)


class ItemScope:
    """Inside a filter: the entries of the item, then the item itself as `item`, then what is around."""

    __slots__ = ("_item", "_outer")

    def __init__(self, item: Mapping[str, Any], outer: "Variables") -> None:
        self._item = item
        self._outer = outer

    def get(self, name: str) -> Any:
        if name in self._item:
            return self._item[name]
        return self._item if name == "item" else self._outer.get(name)


Variables = Mapping[str, Any] | NameScope | VariableScope | ItemScope
Closure = Callable[[Variables, Frame], Any]
