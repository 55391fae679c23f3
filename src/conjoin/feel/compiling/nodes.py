"""Everything but loops and calls: literals, variables, paths, lists, contexts and ranges; operators and `if`.

`=orderId` and `=order.id` are a lookup or two.
"""

from collections.abc import Callable
from typing import Any

from conjoin.feel.comparison import COMPARE, between, either, negated, passes
from conjoin.feel.compiling.compiler import COMPILE, Compiler, NodeSite
from conjoin.feel.compiling.running import Closure, Frame, NameScope, Variables, VariableScope
from conjoin.feel.operators import ARITHMETIC, negate
from conjoin.feel.parsing import tree
from conjoin.feel.parsing.tree import Node
from conjoin.feel.properties import property_of
from conjoin.feel.types import IS_OF_TYPE, Range

Binary = Callable[[Any, Any, Frame], Any]
Test = Callable[[Any, Variables, Frame], bool | None]


def _literal(compiler: Compiler, node: tree.LiteralNode, site: NodeSite) -> Closure:
    value = node.value
    return lambda scope, frame: value


def _name(compiler: Compiler, node: tree.Name, site: NodeSite) -> Closure:
    name = node.name
    compiler.note_name(name, site)
    return lambda scope, frame: scope.get(name)


def _path(compiler: Compiler, node: tree.Path, site: NodeSite) -> Closure:
    key = node.key
    if isinstance(node.source, tree.Name):
        name = node.source.name
        compiler.note_name(name, site)

        def path_of_variable(scope: Variables, frame: Frame) -> Any:
            value = scope.get(name)
            return value.get(key) if type(value) is dict else property_of(value, key, frame)

        return path_of_variable
    source = compiler.closure(node.source, site)

    def path(scope: Variables, frame: Frame) -> Any:
        value = source(scope, frame)
        return value.get(key) if type(value) is dict else property_of(value, key, frame)

    return path


def _list(compiler: Compiler, node: tree.ListOf, site: NodeSite) -> Closure:
    items = [compiler.closure(item, site) for item in node.items]
    return lambda scope, frame: [item(scope, frame) for item in items]


def _context(compiler: Compiler, node: tree.ContextOf, site: NodeSite) -> Closure:
    entries, inside = [], site
    for key, value in node.entries:
        entries.append((key, compiler.closure(value, inside)))
        inside = inside.binding(key)
    if compiler.used.isdisjoint(key for key, _ in entries):
        return lambda scope, frame: {key: value(scope, frame) for key, value in entries}

    def context_seeing_itself(scope: Variables, frame: Frame) -> dict[str, Any]:
        made: dict[str, Any] = {}
        inner = NameScope(made, scope)
        for key, value in entries:
            made[key] = value(inner, frame)
        return made

    return context_seeing_itself


def _range(compiler: Compiler, node: tree.RangeOf, site: NodeSite) -> Closure:
    start, end = compiler.closure(node.start, site), compiler.closure(node.end, site)
    start_included, end_included = node.start_included, node.end_included
    return lambda scope, frame: Range(start(scope, frame), end(scope, frame), start_included, end_included)


def _binary(compiler: Compiler, operation: Binary, left: Node, right: Node, site: NodeSite) -> Closure:
    first = compiler.closure(left, site)
    if not isinstance(right, tree.LiteralNode):
        second = compiler.closure(right, site)
        return lambda scope, frame: operation(first(scope, frame), second(scope, frame), frame)
    constant = right.value
    if isinstance(left, tree.Name):
        # `a > 1` is what most conditions are, and a closure for the variable would be half of their time.
        name = left.name
        return lambda scope, frame: operation(scope.get(name), constant, frame)
    return lambda scope, frame: operation(first(scope, frame), constant, frame)


def _chain(compiler: Compiler, node: tree.Chain, site: NodeSite) -> Closure:
    if len(node.rest) == 1:
        operator, operand = node.rest[0]
        return _binary(compiler, ARITHMETIC[operator], node.first, operand, site)
    first = compiler.closure(node.first, site)
    rest = [(ARITHMETIC[operator], compiler.closure(operand, site)) for operator, operand in node.rest]

    def chain(scope: Variables, frame: Frame) -> Any:
        value = first(scope, frame)
        for operation, operand in rest:
            value = operation(value, operand(scope, frame), frame)
        return value

    return chain


def _negation(compiler: Compiler, node: tree.Negation, site: NodeSite) -> Closure:
    operand = compiler.closure(node.operand, site)
    return lambda scope, frame: negate(operand(scope, frame), frame)


def _comparison(compiler: Compiler, node: tree.Comparison, site: NodeSite) -> Closure:
    return _binary(compiler, COMPARE[node.operator], node.left, node.right, site)


def _between(compiler: Compiler, node: tree.Between, site: NodeSite) -> Closure:
    value, low, high = (compiler.closure(part, site) for part in node)
    return lambda scope, frame: between(value(scope, frame), low(scope, frame), high(scope, frame), frame)


def _in(compiler: Compiler, node: tree.In, site: NodeSite) -> Closure:
    value = compiler.closure(node.value, site)
    test = _any_of(compiler, node.tests, site.binding("?"))
    if "?" not in compiler.used:
        return lambda scope, frame: test(value(scope, frame), scope, frame)

    def run(scope: Variables, frame: Frame) -> bool | None:
        tested = value(scope, frame)
        return test(tested, VariableScope("?", tested, scope), frame)

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
    if isinstance(node, tree.UnaryComparison):
        compare, operand = COMPARE[node.operator], compiler.closure(node.operand, site)
        return lambda value, scope, frame: compare(value, operand(scope, frame), frame)
    if isinstance(node, tree.NoneOf):
        unwanted = _any_of(compiler, node.tests, site)
        return lambda value, scope, frame: negated(unwanted(value, scope, frame))
    expected = compiler.closure(node, site)
    return lambda value, scope, frame: passes(value, expected(scope, frame), frame)


def _instance_of(compiler: Compiler, node: tree.InstanceOf, site: NodeSite) -> Closure:
    value, is_of_type = compiler.closure(node.value, site), IS_OF_TYPE[node.type_name]
    return lambda scope, frame: is_of_type(value(scope, frame))


def _junction(compiler: Compiler, node: tree.Junction, site: NodeSite) -> Closure:
    """An operand that is `decisive` decides; else any that is no boolean makes it null."""
    decisive, operands = node.decisive, [compiler.closure(operand, site) for operand in node.operands]

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


def _if(compiler: Compiler, node: tree.If, site: NodeSite) -> Closure:
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
        **{tree.LiteralNode: _literal, tree.Name: _name, tree.Path: _path, tree.ListOf: _list, tree.If: _if},
        **{tree.ContextOf: _context, tree.RangeOf: _range, tree.Chain: _chain, tree.Negation: _negation},
        **{tree.Comparison: _comparison, tree.Between: _between, tree.In: _in, tree.InstanceOf: _instance_of},
        tree.Junction: _junction,
    }
)
