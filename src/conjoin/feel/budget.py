"""What one evaluation may cost: work (what is looked at) and bytes (what is built), counted and never timed.

Counting is deterministic, so a replay stops where the first run did. A unit of work is about the time of one node of
an expression, or of looking at one item of a list or at 64 characters. What is spent is not given back.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from conjoin.feel.errors import BudgetSpent

MOST_WORK = 4_000_000
MOST_BYTES = 64_000_000
LONGEST_STRING = 4_000_000
LONGEST_LIST = 1_000_000

CHARACTERS_SHIFT = 6
"""64 characters are one unit: what looks at text does so in native code."""

_SHORT = 63
"""Characters that are less than a unit."""

_SHORT_DECIMAL = 128
"""Bytes: one with more digits than are paid for takes more."""

_SHORT_INT = 2**400
_DIGITS_SHIFT = 18
"""A number of 512 bits is one unit; the time to turn it from binary into decimal digits grows with the square."""

_CONTAINERS = frozenset((list, dict))
_SIZED = frozenset((str, list, dict))


class Budget:
    """How much may still be done; whoever looks at something or builds something says so before."""

    __slots__ = ("work_left", "bytes_left")

    def __init__(self) -> None:
        self.work_left = MOST_WORK
        self.bytes_left = MOST_BYTES

    def work(self, units: int) -> None:
        self.work_left -= units
        if self.work_left < 0:
            raise BudgetSpent(f"it takes more than {MOST_WORK:,} steps")

    def build(self, size: int) -> None:
        """Bytes that are made, or copied."""
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise BudgetSpent(f"it builds more than {MOST_BYTES:,} bytes")

    def spend(self, units: int, size: int) -> None:
        """Both at once: for what runs many times."""
        self.work_left -= units
        self.bytes_left -= size
        if self.work_left < 0 or self.bytes_left < 0:
            self.work(0)
            self.build(0)

    def text(self, length: int) -> None:
        """A text of this length is made."""
        if length > LONGEST_STRING:
            raise BudgetSpent(f"it builds a text of more than {LONGEST_STRING:,} characters")
        self.work(length >> CHARACTERS_SHIFT)
        self.build(length)

    def items(self, count: int) -> None:
        """A list of so many is made."""
        if count > LONGEST_LIST:
            raise BudgetSpent(f"it builds a list of more than {LONGEST_LIST:,} items")
        self.work(count >> 3)
        self.build(8 * count)

    def number(self, value: Any, times: int = 1) -> None:
        """A number is computed with, so often; what has thousands of digits takes long. Other values cost nothing."""
        kind = type(value)
        if kind is int:
            if not -_SHORT_INT < value < _SHORT_INT:
                self.bits(value.bit_length(), times)
        elif kind is Decimal and value.__sizeof__() > _SHORT_DECIMAL:
            self.bits(len(value.as_tuple().digits) * 10 // 3, times)

    def bits(self, count: int, times: int = 1) -> None:
        self.work(times * (count * count >> _DIGITS_SHIFT))


Cost = Callable[[Budget, Sequence[Any]], None]
"""Pays for a call of a function, from its arguments."""


def nothing(budget: Budget, values: Sequence[Any]) -> None:
    """For what takes the same short time whatever it is given, and for functions that pay themselves."""


def top(budget: Budget, values: Sequence[Any]) -> None:
    """For what looks at the items of its arguments, but not inside of them."""
    for value in values:
        if type(value) in _SIZED:
            budget.work(len(value) >> CHARACTERS_SHIFT if type(value) is str else len(value))


def deep(budget: Budget, values: Sequence[Any]) -> None:
    """For what looks at everything inside of its arguments: the cost of a function that says nothing about itself."""
    for value in values:
        kind = type(value)
        if kind is str:
            if len(value) > _SHORT:
                budget.work(len(value) >> CHARACTERS_SHIFT)
        elif kind in _CONTAINERS:
            _inside(value, budget.work, 1, CHARACTERS_SHIFT)
        else:
            budget.number(value)


def each(units: int) -> Cost:
    """For what does so much with each item."""

    def cost(budget: Budget, values: Sequence[Any]) -> None:
        budget.work(units * len(values))
        for value in values:
            if type(value) in _SIZED:
                budget.work(len(value) >> CHARACTERS_SHIFT if type(value) is str else units * len(value))

    return cost


def flat(units: int) -> Cost:
    def cost(budget: Budget, values: Sequence[Any]) -> None:
        budget.work(units)
        for value in values:
            budget.number(value)

    return cost


Built = Callable[[Budget, Any], None]
"""Pays for the result of a function."""


def not_built(budget: Budget, result: Any) -> None:
    """The result was there before."""


def new_top(budget: Budget, result: Any) -> None:
    """The result is new, what is inside of it was there before."""
    kind = type(result)
    if kind is str:
        (budget.text if len(result) > _SHORT else budget.build)(len(result))
    elif kind is list:
        budget.items(len(result))
    elif kind is dict:
        budget.build(100 * len(result))


def all_new(budget: Budget, result: Any) -> None:
    """The result is new, with everything inside: what is paid for a function that says nothing about itself."""
    kind = type(result)
    if kind is str:
        (budget.text if len(result) > _SHORT else budget.build)(len(result))
    elif kind in _CONTAINERS:
        _inside(result, budget.build, 64, 0)


def _inside(value: Any, pay: Callable[[int], None], each_item: int, characters_shift: int) -> None:
    """Pays before it goes on, so that a value that holds itself many times over is not walked to its end."""
    waiting = [value]
    while waiting:
        it = waiting.pop()
        pay(each_item * (len(it) + 1))
        for inner in it if type(it) is list else it.values():
            kind = type(inner)
            if kind is str:
                if len(inner) > 64:
                    pay(len(inner) >> characters_shift)
            elif kind in _CONTAINERS:
                waiting.append(inner)
