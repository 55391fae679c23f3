"""Function definitions, and calls: of built-in functions, of functions the expression defines, of computed ones.

A name that no function has is refused when the expression is compiled: a variable is JSON and never a function.
Inside a filter a name may be an entry of an item, which only the run will show.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from conjoin.feel.compiling.compiler import COMPILE, Compiler, NodeSite
from conjoin.feel.compiling.running import Closure, Frame, NameScope, Variables
from conjoin.feel.functions import FUNCTIONS, REFUSED_FUNCTIONS
from conjoin.feel.functions.conversion import CLOCK_FUNCTIONS
from conjoin.feel.functions.signatures import Overload, arranged, described
from conjoin.feel.parsing.tree import Arguments, FunctionCall, FunctionOf, Invocation, LiteralNode
from conjoin.feel.patterns import problem_of
from conjoin.feel.types import Function

_CALL = 5
_WITH_PATTERN = frozenset(("matches", "replace", "split", "extract"))
"""The second argument is a pattern."""
_NULL: Closure = lambda scope, frame: None  # noqa: E731 - like the closures around it


def _function(compiler: Compiler, node: FunctionOf, site: NodeSite) -> Closure:
    parameters = node.parameters
    body, size = compiler.repeated(node.body, site.binding(*parameters))
    work, built = _CALL + size.nodes + len(parameters), 100 * len(parameters) + size.bytes

    def define(scope: Variables, frame: Frame) -> Function:
        def run(arguments: dict[str, Any]) -> Any:
            frame.spend(work, built)
            frame.enter_call()
            value = body(NameScope(arguments, scope), frame)
            frame.calls -= 1
            return value

        return Function(parameters, run)

    return define


def _call(compiler: Compiler, node: FunctionCall, site: NodeSite) -> Closure:
    name = node.name
    if name in site.bound or (site.in_filter and name not in FUNCTIONS and name not in CLOCK_FUNCTIONS):
        compiler.note_name(name, site)
        return _invoked(compiler, lambda scope, frame: scope.get(name), node.arguments, site)
    if name in CLOCK_FUNCTIONS and not node.arguments.values:
        compiler.has_clock, read = True, CLOCK_FUNCTIONS[name]
        return lambda scope, frame: read(frame.now)
    if name in FUNCTIONS:
        return _built_in(compiler, node, site)
    raise compiler.refused(node.column, name, _why_not(name))


def _why_not(name: str) -> str:
    if name in REFUSED_FUNCTIONS:
        return f"the function '{name}' is not supported: {REFUSED_FUNCTIONS[name]}"
    if name in CLOCK_FUNCTIONS:
        return f"the function '{name}' takes no arguments"
    similar = get_close_matches(name, FUNCTIONS, 1)
    return f"there is no function '{name}'" + (f", did you mean '{similar[0]}'?" if similar else "")


def _built_in(compiler: Compiler, node: FunctionCall, site: NodeSite) -> Closure:
    overloads = FUNCTIONS[node.name]
    nodes = node.arguments.values
    _check_pattern(compiler, node)
    if node.arguments.names:
        found = arranged(overloads, node.arguments.names)
        if found is not None:
            overload, order = found
            given = [_NULL if index is None else compiler.closure(nodes[index], site) for index in order]
            return _calling((overload,), given)
    else:
        takers = tuple(overload for overload in overloads if overload.takes_count(len(nodes)))
        if takers:
            return _calling(takers, [compiler.closure(argument, site) for argument in nodes])
    raise compiler.refused(node.column, node.name, f"'{node.name}' is called as {described(node.name, overloads)}")


def _check_pattern(compiler: Compiler, node: FunctionCall) -> None:
    """A pattern that is written out can be refused now; one from a variable makes the call null."""
    pattern = node.arguments.values[1] if node.name in _WITH_PATTERN and len(node.arguments.values) > 1 else None
    if node.arguments.names or not isinstance(pattern, LiteralNode) or type(pattern.value) is not str:
        return
    problem = problem_of(pattern.value)
    if problem is not None:
        raise compiler.refused(node.column, "pattern", f"the pattern of '{node.name}': {problem}")


def _calling(overloads: Sequence[Overload], arguments: Sequence[Closure]) -> Closure:
    def call(scope: Variables, frame: Frame) -> Any:
        values = [argument(scope, frame) for argument in arguments]
        for overload in overloads:
            if overload.takes(values):
                return overload.call(frame, values)
        return None

    return call


def _invoked(compiler: Compiler, callee: Closure, arguments: Arguments, site: NodeSite) -> Closure:
    values = [compiler.closure(value, site) for value in arguments.values]
    names = arguments.names

    def invoke(scope: Variables, frame: Frame) -> Any:
        function = callee(scope, frame)
        if type(function) is not Function:
            return None
        given = [value(scope, frame) for value in values]
        if names:
            by_name = dict(zip(names, given, strict=True))
            given = [by_name[name] for name in function.parameters if name in by_name]
            if len(by_name) != len(given):
                return None
        return function(given)

    return invoke


def _invocation(compiler: Compiler, node: Invocation, site: NodeSite) -> Closure:
    return _invoked(compiler, compiler.closure(node.callee, site), node.arguments, site)


COMPILE.update({FunctionOf: _function, FunctionCall: _call, Invocation: _invocation})
