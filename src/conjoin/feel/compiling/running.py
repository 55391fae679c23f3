"""What a running expression has: the variables it sees, the command's time, and how much it may still do.

A closure takes a scope and a frame. An expression without loops, functions and clock never looks at its frame.
"""

from collections.abc import Callable, Mapping
from typing import Any

from conjoin.feel.errors import Unanswerable

MOST_STEPS = 1_000_000
"""Iterations and calls of one evaluation; what needs more is null."""

DEEPEST_CALLS = 40
"""How deep functions may call each other; the same on every stack, so that a replay sees the same."""


class Frame:
    """One evaluation: its time, and the budget it shares among all loops and calls."""

    __slots__ = ("now", "steps_left", "calls")

    def __init__(self, now: int) -> None:
        self.now = now
        self.steps_left = MOST_STEPS
        self.calls = 0

    def spend(self, steps: int) -> None:
        self.steps_left -= steps
        if self.steps_left < 0:
            raise Unanswerable

    def enter_call(self) -> None:
        self.spend(1)
        self.calls += 1
        if self.calls > DEEPEST_CALLS:
            raise Unanswerable

    def leave_call(self) -> None:
        self.calls -= 1


class Scope:
    """Names of an inner block over those around it: an iteration variable, an earlier entry, an item's entries."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, inner: Mapping[str, Any], outer: "Variables") -> None:
        self._inner = inner
        self._outer = outer

    def get(self, name: str) -> Any:
        return self._inner[name] if name in self._inner else self._outer.get(name)


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


Variables = Mapping[str, Any] | Scope | ItemScope
Closure = Callable[[Variables, Frame], Any]
