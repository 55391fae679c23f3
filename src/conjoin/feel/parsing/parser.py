"""Text into a tree. Operators by how tight they bind: or, and, comparison, sum, product, power, sign, then paths,
filters and calls; below them literals, names, lists, contexts, ranges, and what a keyword opens.

Operators of one level are read in a loop, so only real nesting makes the parser descend. All operators group from the
left. A comparison does not chain: `1 < x < 5` is refused, because what it would mean is not what it says.
"""

from collections.abc import Callable
from functools import partial

from conjoin.feel.functions import FUNCTION_NAMES
from conjoin.feel.iso import looks_temporal, parse_temporal
from conjoin.feel.numbers import read_number
from conjoin.feel.parsing import tree
from conjoin.feel.parsing.cursor import Cursor
from conjoin.feel.parsing.tree import Node

_OR, _AND, _COMPARISON, _SUM, _PRODUCT, _POWER = range(1, 7)
_LEVELS = {
    **{"or": _OR, "and": _AND},
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "between", "in", "instance"), _COMPARISON),
    **{"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER},
}
_CONSTANTS = {"true": True, "false": False, "null": None}
_PROPERTIES = ("time offset", "start included", "end included")
_TYPES = {
    **{name: name for name in ("number", "string", "boolean", "date", "time", "list", "context", "function", "Any")},
    **dict.fromkeys(("date time", "date and time"), "date and time"),
    **dict.fromkeys(("day-time-duration", "days and time duration"), "days and time duration"),
    **dict.fromkeys(("year-month-duration", "years and months duration"), "years and months duration"),
    "range": "range",
}
_AFTER_A_RANGE = (")", "]", "}", ",", "and", "or", "then", "else", "return")
"""Behind the last bracket of `]1..5[`: none of these could begin a filter."""


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
        self.depth -= 1
        return node

    def _operand(self) -> Node:
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
            return tree.Junction(level == _OR, (first, *(operand for _, operand in rest)))
        return tree.Chain(first, tuple(rest))

    def _comparison(self, left: Node) -> Node:
        compared = self._compared(left, self.take().value)
        if self._level() == _COMPARISON:
            raise self.unexpected("comparisons do not chain: combine them with 'and', or use 'between'")
        return compared

    def _compared(self, left: Node, operator: str) -> Node:
        if operator == "between":
            low = self._operand()
            self.expect("and", "between the two bounds of 'between'")
            return tree.Between(left, low, self._operand())
        if operator == "in":
            return tree.In(left, self._tests())
        if operator != "instance":
            return tree.Comparison(operator, left, self._operand())
        self.expect("of", "after 'instance'")
        name = self.accept_words(_TYPES)
        if name is None:
            raise self.unexpected("expected the name of a type after 'instance of'")
        if self.at("<"):
            raise self.unexpected(f"a type of the form '{name}<...>' is not supported")
        return tree.InstanceOf(left, _TYPES[name])

    def _tests(self) -> tuple[Node, ...]:
        """What follows `in`: one test, or several in parentheses."""
        opening = self.position
        if not self.accept("("):
            return (self._test(self._operand),)
        tests = self._tests_until_closed()
        if self.at("..") and len(tests) == 1:
            self.position = opening
            return (self._operand(),)
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
            return tree.UnaryComparison(operator, self._operand())
        if self.at("not") and self.ahead(1).value == "(":
            self.take()
            self.take()
            tests = self._tests_until_closed()
            self.expect(")", "after the tests of 'not'")
            return tree.NoneOf(tests)
        return operand()

    def _signed(self) -> Node:
        minuses = 0
        while self.accept("-"):
            minuses += 1
        node = self._postfixed()
        # A pair of minuses is not nothing: of what is no number it is null.
        for _ in range(min(minuses, 2 - minuses % 2)):
            node = tree.Negation(node)
        return node

    def _postfixed(self) -> Node:
        node = self._primary()
        while True:
            if self.accept("."):
                node = tree.Path(node, self.accept_words(_PROPERTIES) or self.expect_name("a name after '.'"))
            elif self.at("[") and self.ahead(1).kind != "end" and self.ahead(1).value not in _AFTER_A_RANGE:
                self.take()
                node = tree.Filter(node, self.expression())
                self.expect("]", "after a filter")
            elif self.at("(") and not isinstance(node, tree.RangeOf):
                node = tree.Invocation(node, self._arguments())
            else:
                return node

    def _primary(self) -> Node:
        token = self.token
        if token.kind == "number":
            return tree.LiteralNode(read_number(self.take().value))
        if token.kind == "string":
            return tree.LiteralNode(self.take().value)
        if token.kind in ("name", "keyword"):
            return self._word()
        read = _BRACKETED.get(token.value) if token.kind == "symbol" else None
        if read is None or self.ahead(1).kind == "end":
            raise self.unexpected("expected a value")
        self.take()
        return read(self)

    def _word(self) -> Node:
        token = self.token
        name = self.accept_words(FUNCTION_NAMES, followed_by="(")
        if name is not None:
            return tree.FunctionCall(name, self._arguments(), token.start + 1)
        if token.kind == "keyword" and token.value not in _CONSTANTS and token.value not in _FORMS:
            raise self.unexpected("expected a value")
        self.take()
        if token.kind == "name":
            name = token.value
            return tree.FunctionCall(name, self._arguments(), token.start + 1) if self.at("(") else tree.Name(name)
        form = _FORMS.get(token.value)
        return tree.LiteralNode(_CONSTANTS[token.value]) if form is None else form(self)

    def _parenthesized(self) -> Node:
        inner = self.expression()
        if self.at(".."):
            return self._range(inner, False)
        self.expect(")", "to close '('")
        return inner

    def _list_or_range(self) -> Node:
        if self.accept("]"):
            return tree.ListOf(())
        items = [self.expression()]
        if self.at(".."):
            return self._range(items[0], True)
        while self.accept(","):
            items.append(self.expression())
        self.expect("]", "to close '['")
        return tree.ListOf(tuple(items))

    def _range(self, start: Node, start_included: bool) -> Node:
        self.expect("..", "between the bounds of a range")
        end = self.expression()
        closing = self.accept("]", ")", "[")
        if closing is None:
            raise self.unexpected("expected ']', ')' or '[' to close a range")
        return tree.RangeOf(start, end, start_included, closing == "]")

    def _context(self) -> Node:
        if self.accept("}"):
            return tree.ContextOf(())
        entries: list[tuple[str, Node]] = []
        while not entries or self.accept(","):
            key = self._context_key()
            self.expect(":", "after the key of a context entry")
            entries.append((key, self.expression()))
        self.expect("}", "to close '{'")
        return tree.ContextOf(tuple(entries))

    def _context_key(self) -> str:
        """A string, or whatever stands before the colon, spaces and symbols included."""
        if self.token.kind == "string" or self.ahead(1).value == ":":
            if self.token.kind not in ("string", "name", "keyword"):
                raise self.unexpected("expected the key of a context entry")
            return self.take().value
        first = self.token
        while not self.at(":", ",", "{", "}", "[", "]", "(", ")") and self.token.kind != "end":
            self.take()
        if self.token is first or not self.at(":"):
            raise self.unexpected("expected the key of a context entry and ':'")
        return self.text[first.start : self.tokens[self.position - 1].end]

    def _temporal(self) -> Node:
        token = self.token
        if token.kind != "string":
            raise self.unexpected("expected a date, time or duration in double quotes after '@'")
        if not looks_temporal(token.value):
            raise self.refused(token, "@", f"@{token.value!r} is no date, time, date and time, or duration")
        self.take()
        return tree.LiteralNode(parse_temporal(token.value))

    def _arguments(self) -> tree.Arguments:
        self.expect("(", "before the arguments")
        if self.accept(")"):
            return tree.Arguments(())
        names: list[str] = []
        values: list[Node] = []
        while not values or self.accept(","):
            if name := self._argument_name():
                names.append(name)
            values.append(self.expression())
            if names and len(names) != len(values):
                raise self.unexpected("either all arguments have names or none")
        self.expect(")", "after the arguments")
        return tree.Arguments(tuple(values), tuple(names))

    def _argument_name(self) -> str | None:
        """The words before a colon: `grouping separator: "."`."""
        distance = 0
        while self.ahead(distance).kind in ("name", "keyword"):
            distance += 1
        if distance == 0 or self.ahead(distance).value != ":" or self.ahead(distance).kind != "symbol":
            return None
        words = [self.take().value for _ in range(distance)]
        self.take()
        return " ".join(words)

    def _if(self) -> Node:
        """With every `else if` that follows, so that a long list of cases is not a deep tree."""
        cases: list[tuple[Node, Node]] = []
        while not cases or self.accept("if"):
            condition = self.expression()
            self.expect("then", "after the condition of 'if'")
            cases.append((condition, self.expression()))
            self.expect("else", "after 'if ... then ...'")
        return tree.If(tuple(cases), self.expression())

    def _for(self) -> Node:
        iterators = self._iterators()
        self.expect("return", "after 'for ... in ...'")
        return tree.For(iterators, self.expression())

    def _quantified(self, kind: str) -> Node:
        iterators = self._iterators()
        self.expect("satisfies", f"after '{kind} ... in ...'")
        return tree.Quantified(kind == "some", iterators, self.expression())

    def _iterators(self) -> tree.Iterators:
        iterators: list[tuple[str, Node]] = []
        while not iterators or self.accept(","):
            name = self.expect_name("the name of a variable to iterate with")
            self.expect("in", "after the variable to iterate with")
            domain = self.expression()
            if self.accept(".."):
                domain = tree.RangeOf(domain, self.expression())
            iterators.append((name, domain))
        return tuple(iterators)

    def _function(self) -> Node:
        self.expect("(", "after 'function'")
        parameters: list[str] = []
        while not self.accept(")"):
            if parameters:
                self.expect(",", "between parameters")
            parameters.append(self.expect_name("the name of a parameter"))
            if self.at(":"):
                raise self.unexpected("parameters have no types here")
        if self.token.value == "external":
            raise self.refused(self.token, "external", "external functions are not supported")
        return tree.FunctionOf(tuple(parameters), self.expression())


_BRACKETED: dict[str, Callable[[Parser], Node]] = {
    **{"(": Parser._parenthesized, "[": Parser._list_or_range, "{": Parser._context, "@": Parser._temporal},
    "]": lambda parser: parser._range(parser.expression(), False),
    "?": lambda parser: tree.Name("?"),
}
_FORMS: dict[str, Callable[[Parser], Node]] = {
    **{"if": Parser._if, "for": Parser._for, "function": Parser._function},
    **{kind: partial(Parser._quantified, kind=kind) for kind in ("some", "every")},
}
