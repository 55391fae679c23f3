"""The syntax tree of an expression: what the parser makes and the compiler reads. Nothing here computes.

Operators of one level stand in one node (`a + b - c` is one `Chain`), so a long sum is not a deep tree.
"""

from typing import Any, NamedTuple, Union

Node = Union[
    "LiteralNode", "Name", "Path", "Filter", "ListOf", "ContextOf", "RangeOf", "Negation", "Chain", "Comparison",
    "Between", "In", "InstanceOf", "Junction", "If", "For", "Quantified", "FunctionOf", "FunctionCall", "Invocation",
    "UnaryComparison", "NoneOf",
]  # fmt: skip
Iterators = tuple[tuple[str, "Node"], ...]


class LiteralNode(NamedTuple):
    """A number, string, boolean, null or temporal value."""

    value: Any


class Name(NamedTuple):
    """A variable; `?` is the value that a unary test is about."""

    name: str


class Path(NamedTuple):
    source: Node
    key: str


class Filter(NamedTuple):
    source: Node
    condition: Node


class ListOf(NamedTuple):
    items: tuple[Node, ...]


class ContextOf(NamedTuple):
    entries: tuple[tuple[str, Node], ...]


class RangeOf(NamedTuple):
    start: Node
    end: Node
    start_included: bool = True
    end_included: bool = True


class Negation(NamedTuple):
    operand: Node


class Chain(NamedTuple):
    """Arithmetic from left to right: the first operand, then operators with their right operands."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


class Comparison(NamedTuple):
    operator: str
    left: Node
    right: Node


class Between(NamedTuple):
    value: Node
    low: Node
    high: Node


class In(NamedTuple):
    value: Node
    tests: tuple[Node, ...]


class UnaryComparison(NamedTuple):
    """A test of the form `< 5`, after `in`."""

    operator: str
    operand: Node


class NoneOf(NamedTuple):
    """A test of the form `not(1, 2)`, after `in`."""

    tests: tuple[Node, ...]


class InstanceOf(NamedTuple):
    value: Node
    type_name: str


class Junction(NamedTuple):
    """Operands of `or` (one that is true decides) or of `and` (one that is false does)."""

    decisive: bool
    operands: tuple[Node, ...]


class If(NamedTuple):
    """Conditions with what follows from them, in order, then what is left."""

    cases: tuple[tuple[Node, Node], ...]
    otherwise: Node


class For(NamedTuple):
    iterators: Iterators
    body: Node


class Quantified(NamedTuple):
    """`some` (an item for which the body is true decides) or `every` (one for which it is false does)."""

    decisive: bool
    iterators: Iterators
    body: Node


class FunctionOf(NamedTuple):
    parameters: tuple[str, ...]
    body: Node


class Arguments(NamedTuple):
    """`names` is empty for positional arguments."""

    values: tuple[Node, ...]
    names: tuple[str, ...] = ()


class FunctionCall(NamedTuple):
    """A function called by its name, a built-in one or one that the expression defines."""

    name: str
    arguments: Arguments
    column: int


class Invocation(NamedTuple):
    """A function that is itself computed: `a.f(1)`."""

    callee: Node
    arguments: Arguments
