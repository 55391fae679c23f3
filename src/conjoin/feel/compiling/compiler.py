"""From a node to a closure: the table of who compiles what, and what is learned about the expression on the way.

The tree is walked once, here; nothing walks it at run time.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from conjoin.feel.compiling.running import Closure
from conjoin.feel.errors import FeelSyntaxError
from conjoin.feel.parsing import tree

DEEPEST_TREE = 150


class NodeSite(NamedTuple):
    """Where a node stands: names bound around it, and whether inside a filter, where an item may bind any name."""

    bound: frozenset[str] = frozenset()
    in_filter: bool = False

    def binding(self, *names: str) -> "NodeSite":
        return NodeSite(self.bound.union(names), self.in_filter)

    def filtering(self) -> "NodeSite":
        return NodeSite(self.bound | {"item"}, True)


class Size(NamedTuple):
    """The nodes of a part of an expression, and the bytes of the values that they make each time they run."""

    nodes: int
    bytes: int


_BYTES: dict[type, int] = {
    **{tree.Chain: 100, tree.Negation: 100, tree.RangeOf: 80, tree.ListOf: 100},
    **{tree.ContextOf: 250, tree.FunctionOf: 200},
}


class Compiler:
    """One expression. `names` are its variables in order of first use; `used` the bound names it mentions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: dict[str, None] = {}
        self.used: set[str] = set()
        self.may_name_variables = False
        """Names inside filters: an entry of the item, or a variable; only the run will show which."""
        self.has_clock = False
        self.size = Size(0, 0)
        """Of everything compiled so far."""
        self._depth = 0

    def closure(self, node: tree.Node, site: NodeSite) -> Closure:
        self._depth += 1
        if self._depth > DEEPEST_TREE:
            raise self.refused(1, "nesting", f"the expression is nested deeper than {DEEPEST_TREE} levels")
        self.size = Size(self.size.nodes + 1, self.size.bytes + _BYTES.get(type(node), 0))
        closure = COMPILE[type(node)](self, node, site)
        self._depth -= 1
        return closure

    def repeated(self, node: tree.Node, site: NodeSite) -> tuple[Closure, Size]:
        """A part that runs many times, and what it costs each time."""
        before = self.size
        closure = self.closure(node, site)
        return closure, Size(self.size.nodes - before.nodes, self.size.bytes - before.bytes)

    def note_name(self, name: str, site: NodeSite) -> None:
        if name in site.bound:
            self.used.add(name)
        elif site.in_filter:
            self.may_name_variables = True
        else:
            self.names[name] = None

    def refused(self, column: int, construct: str, problem: str) -> FeelSyntaxError:
        return FeelSyntaxError(self.text, column, construct, problem)


COMPILE: dict[type, Callable[[Compiler, Any, NodeSite], Closure]] = {}
"""One entry a kind of node; the modules beside this one fill it."""
