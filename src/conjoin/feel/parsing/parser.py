"""Operators by how tight they bind: or, and, comparison, sum, product, power, sign, then paths, filters and calls.

Operators of one level are read in a loop, so only real nesting makes the parser descend. All operators group from the
left. A comparison does not chain: `1 < x < 5` is refused, because what it would mean is not what it says.
"""

from collections.abc import Callable

from conjoin.feel.parsing import primary
from conjoin.feel.parsing.cursor import Cursor
from conjoin.feel.parsing.tree import (
    Between,
    Chain,
    Comparison,
    Conjunction,
    Disjunction,
    Filter,
    In,
    InstanceOf,
    Negation,
    Node,
    NoneOf,
    Path,
    RangeOf,
    UnaryComparison,
)
from conjoin.feel.parsing.words import PROPERTY_NAMES, TYPE_NAMES, longest

_OR, _AND, _COMPARISON, _SUM, _PRODUCT, _POWER = range(1, 7)
_LEVELS = {
    **{"or": _OR, "and": _AND},
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "between", "in", "instance"), _COMPARISON),
    **{"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER},
}


def parse(text: str) -> Node:
    """The tree of an expression; `FeelSyntaxError` for anything else."""
    parser = Parser(text)
    if parser.token.kind == "end":
        raise parser.unexpected("expected an expression")
    node = parser.expression()
    if parser.token.kind != "end":
        raise parser.unexpected("expected an operator or the end")
    return node


class Parser(Cursor):
    def expression(self) -> Node:
        self.descend()
        node = self._operation(_OR)
        self.ascend()
        return node

    def operand(self) -> Node:
        """What a comparison compares: anything that binds tighter than it."""
        return self._operation(_SUM)

    def _operation(self, weakest: int) -> Node:
        """Operators that bind at least as tight as `weakest`, with their operands."""
        left = self._signed()
        while (level := self._level()) >= weakest:
            left = self._comparison(left) if level == _COMPARISON else self._operands(left, level)
        return left

    def _level(self) -> int:
        token = self.token
        return _LEVELS.get(token.value, 0) if token.kind in ("symbol", "keyword") else 0

    def _operands(self, first: Node, level: int) -> Node:
        """All operators of one level in a row, from left to right."""
        rest = []
        while self._level() == level:
            rest.append((self.take().value, self._operation(level + 1)))
        if level in (_OR, _AND):
            operands = (first, *(operand for _, operand in rest))
            return Disjunction(operands) if level == _OR else Conjunction(operands)
        return Chain(first, tuple(rest))

    def _comparison(self, left: Node) -> Node:
        compared = self._compared(left, self.take().value)
        if self._level() == _COMPARISON:
            raise self.unexpected("comparisons do not chain: combine them with 'and', or use 'between'")
        return compared

    def _compared(self, left: Node, operator: str) -> Node:
        if operator == "between":
            low = self.operand()
            self.expect("and", "between the two bounds of 'between'")
            return Between(left, low, self.operand())
        if operator == "in":
            return In(left, self._tests())
        if operator == "instance":
            self.expect("of", "after 'instance'")
            return InstanceOf(left, self._type_name())
        return Comparison(operator, left, self.operand())

    def _type_name(self) -> str:
        name = longest(self, TYPE_NAMES)
        if name is None:
            raise self.unexpected("expected the name of a type after 'instance of'")
        if self.at("<"):
            raise self.unexpected(f"a type of the form '{name}<...>' is not supported")
        return TYPE_NAMES[name]

    def _tests(self) -> tuple[Node, ...]:
        """What follows `in`: one test, or several in parentheses."""
        if not self.at("("):
            return (self._test(self.operand),)
        opening = self.position
        self.take()
        tests = self._tests_until_closed()
        if self.at("..") and len(tests) == 1:
            self.position = opening
            return (self.operand(),)
        self.expect(")", "after the tests of 'in'")
        return tests

    def _tests_until_closed(self) -> tuple[Node, ...]:
        tests = [self._test(self.expression)]
        while self.accept(","):
            tests.append(self._test(self.expression))
        return tuple(tests)

    def _test(self, operand: Callable[[], Node]) -> Node:
        operator = self.accept("<", "<=", ">", ">=", "=", "!=")
        if operator is not None:
            return UnaryComparison(operator, self.operand())
        if self.at("not") and self.ahead(1).value == "(":
            self.take()
            self.take()
            tests = self._tests_until_closed()
            self.expect(")", "after the tests of 'not'")
            return NoneOf(tests)
        return operand()

    def _signed(self) -> Node:
        minuses = 0
        while self.accept("-"):
            minuses += 1
        node = self._postfixed()
        # A pair of minuses is not nothing: of what is no number it is null.
        for _ in range(min(minuses, 2 - minuses % 2)):
            node = Negation(node)
        return node

    def _postfixed(self) -> Node:
        node = primary.primary(self)
        while True:
            if self.at("."):
                self.take()
                node = Path(node, self._key())
            elif self.at("[") and not self._closes_a_range():
                self.take()
                node = Filter(node, self.expression())
                self.expect("]", "after a filter")
            elif self.at("(") and not isinstance(node, RangeOf):
                node = primary.invocation(self, node)
            else:
                return node

    def _key(self) -> str:
        return longest(self, PROPERTY_NAMES) or self.expect_name("a name after '.'")

    def _closes_a_range(self) -> bool:
        """`]1..5[`: a bracket that nothing follows which could be a filter."""
        following = self.ahead(1)
        return following.kind == "end" or following.value in (")", "]", "}", ",", "and", "or", "then", "else", "return")
