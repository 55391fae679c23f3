"""What an expression is made of: literals, names, lists, contexts, ranges, calls, and what a keyword opens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from conjoin.feel.functions import FUNCTION_NAMES
from conjoin.feel.iso import looks_temporal, parse_temporal
from conjoin.feel.numbers import read_number
from conjoin.feel.parsing.lexer import Token
from conjoin.feel.parsing.tree import (
    Arguments,
    ContextOf,
    For,
    FunctionCall,
    FunctionOf,
    If,
    Invocation,
    Iterators,
    ListOf,
    LiteralNode,
    Name,
    Node,
    Quantified,
    RangeOf,
)
from conjoin.feel.parsing.words import longest

if TYPE_CHECKING:
    from conjoin.feel.parsing.parser import Parser

_CONSTANTS = {"true": True, "false": False, "null": None}


def primary(parser: Parser) -> Node:
    token = parser.token
    if token.kind == "number":
        parser.take()
        return LiteralNode(read_number(token.value))
    if token.kind == "string":
        parser.take()
        return LiteralNode(token.value)
    if token.kind in ("name", "keyword"):
        return _word(parser, token)
    read = _BRACKETED.get(token.value) if token.kind == "symbol" else None
    if read is None or parser.ahead(1).kind == "end":
        raise parser.unexpected("expected a value")
    parser.take()
    return read(parser)


def _word(parser: Parser, token: Token) -> Node:
    name = longest(parser, FUNCTION_NAMES, followed_by="(")
    if name is not None:
        return FunctionCall(name, _arguments(parser), token.start + 1)
    if token.kind == "name":
        parser.take()
        return FunctionCall(token.value, _arguments(parser), token.start + 1) if parser.at("(") else Name(token.value)
    if token.value in _CONSTANTS:
        parser.take()
        return LiteralNode(_CONSTANTS[token.value])
    form = _FORMS.get(token.value)
    if form is None:
        raise parser.unexpected("expected a value")
    parser.take()
    return form(parser)


def _parenthesized(parser: Parser) -> Node:
    inner = parser.expression()
    if parser.at(".."):
        return _range(parser, inner, False)
    parser.expect(")", "to close '('")
    return inner


def _list_or_range(parser: Parser) -> Node:
    if parser.accept("]"):
        return ListOf(())
    first = parser.expression()
    if parser.at(".."):
        return _range(parser, first, True)
    items = [first]
    while parser.accept(","):
        items.append(parser.expression())
    parser.expect("]", "to close '['")
    return ListOf(tuple(items))


def _open_range(parser: Parser) -> Node:
    return _range(parser, parser.expression(), False)


def _range(parser: Parser, start: Node, start_included: bool) -> Node:
    parser.expect("..", "between the bounds of a range")
    end = parser.expression()
    closing = parser.accept("]", ")", "[")
    if closing is None:
        raise parser.unexpected("expected ']', ')' or '[' to close a range")
    return RangeOf(start, end, start_included, closing == "]")


def _context(parser: Parser) -> Node:
    entries: list[tuple[str, Node]] = []
    if parser.accept("}"):
        return ContextOf(())
    while True:
        key = _context_key(parser)
        parser.expect(":", "after the key of a context entry")
        entries.append((key, parser.expression()))
        if not parser.accept(","):
            break
    parser.expect("}", "to close '{'")
    return ContextOf(tuple(entries))


def _context_key(parser: Parser) -> str:
    """A string, or whatever stands before the colon, spaces and symbols included."""
    if parser.token.kind == "string" or parser.ahead(1).value == ":":
        if parser.token.kind not in ("string", "name", "keyword"):
            raise parser.unexpected("expected the key of a context entry")
        return parser.take().value
    first = parser.token
    while not parser.at(":") and parser.token.kind != "end" and not parser.at(",", "{", "}", "[", "]", "(", ")"):
        parser.take()
    if parser.token is first or not parser.at(":"):
        raise parser.unexpected("expected the key of a context entry and ':'")
    return parser.text[first.start : parser.tokens[parser.position - 1].end]


def _temporal(parser: Parser) -> Node:
    token = parser.token
    if token.kind != "string":
        raise parser.unexpected("expected a date, time or duration in double quotes after '@'")
    if not looks_temporal(token.value):
        raise parser.refused(token, "@", f"@{token.value!r} is no date, time, date and time, or duration")
    parser.take()
    return LiteralNode(parse_temporal(token.value))


def invocation(parser: Parser, callee: Node) -> Node:
    return Invocation(callee, _arguments(parser))


def _arguments(parser: Parser) -> Arguments:
    parser.expect("(", "before the arguments")
    if parser.accept(")"):
        return Arguments(())
    names: list[str] = []
    values: list[Node] = []
    while True:
        if name := _argument_name(parser):
            names.append(name)
        values.append(parser.expression())
        if names and len(names) != len(values):
            raise parser.unexpected("either all arguments have names or none")
        if not parser.accept(","):
            break
    parser.expect(")", "after the arguments")
    return Arguments(tuple(values), tuple(names))


def _argument_name(parser: Parser) -> str | None:
    """The words before a colon: `grouping separator: "."`."""
    distance = 0
    while parser.ahead(distance).kind in ("name", "keyword"):
        distance += 1
    if distance == 0 or parser.ahead(distance).value != ":" or parser.ahead(distance).kind != "symbol":
        return None
    words = [parser.take().value for _ in range(distance)]
    parser.take()
    return " ".join(words)


def _if(parser: Parser) -> Node:
    """With every `else if` that follows, so that a long list of cases is not a deep tree."""
    cases = []
    while True:
        condition = parser.expression()
        parser.expect("then", "after the condition of 'if'")
        cases.append((condition, parser.expression()))
        parser.expect("else", "after 'if ... then ...'")
        if not parser.accept("if"):
            return If(tuple(cases), parser.expression())


def _for(parser: Parser) -> Node:
    iterators = _iterators(parser)
    parser.expect("return", "after 'for ... in ...'")
    return For(iterators, parser.expression())


def _quantified(kind: str) -> Callable[[Parser], Node]:
    def read(parser: Parser) -> Node:
        iterators = _iterators(parser)
        parser.expect("satisfies", f"after '{kind} ... in ...'")
        return Quantified(kind, iterators, parser.expression())

    return read


def _iterators(parser: Parser) -> Iterators:
    iterators = []
    while True:
        name = parser.expect_name("the name of a variable to iterate with")
        parser.expect("in", "after the variable to iterate with")
        domain = parser.expression()
        if parser.accept(".."):
            domain = RangeOf(domain, parser.expression())
        iterators.append((name, domain))
        if not parser.accept(","):
            return tuple(iterators)


def _function(parser: Parser) -> Node:
    parser.expect("(", "after 'function'")
    parameters: list[str] = []
    while not parser.accept(")"):
        if parameters:
            parser.expect(",", "between parameters")
        parameters.append(parser.expect_name("the name of a parameter"))
        if parser.at(":"):
            raise parser.unexpected("parameters have no types here")
    if parser.token.value == "external":
        raise parser.refused(parser.token, "external", "external functions are not supported")
    return FunctionOf(tuple(parameters), parser.expression())


_BRACKETED: dict[str, Callable[[Parser], Node]] = {
    **{"(": _parenthesized, "[": _list_or_range, "]": _open_range, "{": _context, "@": _temporal},
    "?": lambda parser: Name("?"),
}
_FORMS: dict[str, Callable[[Parser], Node]] = {
    **{"if": _if, "for": _for, "function": _function},
    **{kind: _quantified(kind) for kind in ("some", "every")},
}
