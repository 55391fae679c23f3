"""Operators: arithmetic, comparison, `in`, `between`, `instance of`, `and`, `or`, `if`."""

from collections.abc import Callable
from typing import Any

from conjoin.feel.comparison import COMPARE, between, either, negated, passes
from conjoin.feel.compiling.compiler import COMPILE, Compiler, NodeSite
from conjoin.feel.compiling.running import Closure, Frame, NameScope, Variables
from conjoin.feel.operators import ARITHMETIC, negate
from conjoin.feel.parsing.tree import (
    Between,
    Chain,
    Comparison,
    Conjunction,
    Disjunction,
    If,
    In,
    InstanceOf,
    LiteralNode,
    Negation,
    Node,
    NoneOf,
    UnaryComparison,
)
from conjoin.feel.types import IS_OF_TYPE

Binary = Callable[[Any, Any, Frame], Any]
Test = Callable[[Any, Variables, Frame], bool | None]


def _binary(compiler: Compiler, operation: Binary, left: Closure, right: Node, site: NodeSite) -> Closure:
    if isinstance(right, LiteralNode):
        constant = right.value
        return lambda scope, frame: operation(left(scope, frame), constant, frame)
    other = compiler.closure(right, site)
    return lambda scope, frame: operation(left(scope, frame), other(scope, frame), frame)


def _chain(compiler: Compiler, node: Chain, site: NodeSite) -> Closure:
    first = compiler.closure(node.first, site)
    if len(node.rest) == 1:
        operator, operand = node.rest[0]
        return _binary(compiler, ARITHMETIC[operator], first, operand, site)
    rest = [(ARITHMETIC[operator], compiler.closure(operand, site)) for operator, operand in node.rest]

    def chain(scope: Variables, frame: Frame) -> Any:
        value = first(scope, frame)
        for operation, operand in rest:
            value = operation(value, operand(scope, frame), frame)
        return value

    return chain


def _negation(compiler: Compiler, node: Negation, site: NodeSite) -> Closure:
    operand = compiler.closure(node.operand, site)
    return lambda scope, frame: negate(operand(scope, frame), frame)


def _comparison(compiler: Compiler, node: Comparison, site: NodeSite) -> Closure:
    left = compiler.closure(node.left, site)
    return _binary(compiler, COMPARE[node.operator], left, node.right, site)


def _between(compiler: Compiler, node: Between, site: NodeSite) -> Closure:
    value, low, high = (compiler.closure(part, site) for part in (node.value, node.low, node.high))
    return lambda scope, frame: between(value(scope, frame), low(scope, frame), high(scope, frame), frame)


def _in(compiler: Compiler, node: In, site: NodeSite) -> Closure:
    value = compiler.closure(node.value, site)
    test = _any_of(compiler, node.tests, site.binding("?"))
    if "?" not in compiler.used:
        return lambda scope, frame: test(value(scope, frame), scope, frame)

    def run(scope: Variables, frame: Frame) -> bool | None:
        tested = value(scope, frame)
        return test(tested, NameScope({"?": tested}, scope), frame)

    return run


def _any_of(compiler: Compiler, nodes: tuple[Node, ...], site: NodeSite) -> Test:
    tests = [_test(compiler, node, site) for node in nodes]
    if len(tests) == 1:
        return tests[0]

    def any_of(value: Any, scope: Variables, frame: Frame) -> bool | None:
        answer: bool | None = False
        for test in tests:
            answer = either(answer, test(value, scope, frame))
            if answer is True:
                return True
        return answer

    return any_of


def _test(compiler: Compiler, node: Node, site: NodeSite) -> Test:
    if isinstance(node, UnaryComparison):
        compare, operand = COMPARE[node.operator], compiler.closure(node.operand, site)
        return lambda value, scope, frame: compare(value, operand(scope, frame), frame)
    if isinstance(node, NoneOf):
        unwanted = _any_of(compiler, node.tests, site)
        return lambda value, scope, frame: negated(unwanted(value, scope, frame))
    expected = compiler.closure(node, site)
    return lambda value, scope, frame: passes(value, expected(scope, frame), frame)


def _instance_of(compiler: Compiler, node: InstanceOf, site: NodeSite) -> Closure:
    value, is_of_type = compiler.closure(node.value, site), IS_OF_TYPE[node.type_name]
    return lambda scope, frame: is_of_type(value(scope, frame))


def _conjunction(compiler: Compiler, node: Conjunction, site: NodeSite) -> Closure:
    return _all_or_any(compiler, node.operands, site, decisive=False)


def _disjunction(compiler: Compiler, node: Disjunction, site: NodeSite) -> Closure:
    return _all_or_any(compiler, node.operands, site, decisive=True)


def _all_or_any(compiler: Compiler, nodes: tuple[Node, ...], site: NodeSite, decisive: bool) -> Closure:
    """One operand that is `decisive` (False for `and`, True for `or`) decides; else any that is no boolean is null."""
    operands = [compiler.closure(node, site) for node in nodes]

    def decide(scope: Variables, frame: Frame) -> bool | None:
        answer: bool | None = not decisive
        for operand in operands:
            value: object = operand(scope, frame)
            if value is decisive:
                return decisive
            if type(value) is not bool:
                answer = None
        return answer

    return decide


def _if(compiler: Compiler, node: If, site: NodeSite) -> Closure:
    cases = [(compiler.closure(condition, site), compiler.closure(then, site)) for condition, then in node.cases]
    otherwise = compiler.closure(node.otherwise, site)

    def choose(scope: Variables, frame: Frame) -> Any:
        for condition, then in cases:
            if condition(scope, frame) is True:
                return then(scope, frame)
        return otherwise(scope, frame)

    return choose


COMPILE.update(
    {
        **{Chain: _chain, Negation: _negation, Comparison: _comparison, Between: _between, In: _in},
        **{InstanceOf: _instance_of, Conjunction: _conjunction, Disjunction: _disjunction, If: _if},
    }
)
