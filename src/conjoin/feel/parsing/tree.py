"""The syntax tree of an expression: what the parser makes and the compiler reads. Nothing here computes.

Operators of one level stand in one node (`a + b - c` is one `Chain`), so a long sum is not a deep tree.
"""

from dataclasses import dataclass
from typing import Any, Union

Node = Union[
    "LiteralNode", "Name", "Path", "Filter", "ListOf", "ContextOf", "RangeOf", "Negation", "Chain", "Comparison",
    "Between", "In", "InstanceOf", "Conjunction", "Disjunction", "If", "For", "Quantified", "FunctionOf",
    "FunctionCall", "Invocation", "UnaryComparison", "NoneOf",
]  # fmt: skip
Iterators = tuple[tuple[str, "Node"], ...]


@dataclass(frozen=True, slots=True)
class LiteralNode:
    """A number, string, boolean, null or temporal value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    """A variable; `?` is the value that a unary test is about."""

    name: str


@dataclass(frozen=True, slots=True)
class Path:
    source: Node
    key: str


@dataclass(frozen=True, slots=True)
class Filter:
    source: Node
    condition: Node


@dataclass(frozen=True, slots=True)
class ListOf:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ContextOf:
    entries: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class RangeOf:
    start: Node
    end: Node
    start_included: bool = True
    end_included: bool = True


@dataclass(frozen=True, slots=True)
class Negation:
    operand: Node


@dataclass(frozen=True, slots=True)
class Chain:
    """Arithmetic from left to right: the first operand, then operators with their right operands."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Between:
    value: Node
    low: Node
    high: Node


@dataclass(frozen=True, slots=True)
class In:
    value: Node
    tests: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class UnaryComparison:
    """A test of the form `< 5`, after `in`."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class NoneOf:
    """A test of the form `not(1, 2)`, after `in`."""

    tests: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class InstanceOf:
    value: Node
    type_name: str


@dataclass(frozen=True, slots=True)
class Conjunction:
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class If:
    """Conditions with what follows from them, in order, then what is left."""

    cases: tuple[tuple[Node, Node], ...]
    otherwise: Node


@dataclass(frozen=True, slots=True)
class For:
    iterators: Iterators
    body: Node


@dataclass(frozen=True, slots=True)
class Quantified:
    """`some` or `every`."""

    kind: str
    iterators: Iterators
    body: Node


@dataclass(frozen=True, slots=True)
class FunctionOf:
    parameters: tuple[str, ...]
    body: Node


@dataclass(frozen=True, slots=True)
class Arguments:
    """`names` is empty for positional arguments."""

    values: tuple[Node, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function called by its name, a built-in one or one that the expression defines."""

    name: str
    arguments: Arguments
    column: int


@dataclass(frozen=True, slots=True)
class Invocation:
    """A function that is itself computed: `a.f(1)`."""

    callee: Node
    arguments: Arguments
