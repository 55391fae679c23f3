"""`for`, `some`, `every` and filters: whatever looks at the items of a list. Each iteration is paid by its size."""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.feel.compiling.compiler import COMPILE, Compiler, NodeSite, Size
from conjoin.feel.compiling.running import Closure, Frame, ItemScope, Variables, VariableScope
from conjoin.feel.numbers import as_int
from conjoin.feel.parsing.tree import Filter, For, Iterators, LiteralNode, Negation, Node, Quantified
from conjoin.feel.types import Range

Domains = list[tuple[str, Closure, Size]]
_ITERATION = 4
_RESULT = 50


class _NotIterable(Exception):  # noqa: N818 - the loop is null
    """What should be iterated over is neither a list nor a range of whole numbers."""


def _for(compiler: Compiler, node: For, site: NodeSite) -> Closure:
    domains, inside = _domains(compiler, node.iterators, site)
    body, size = compiler.repeated(node.body, inside.binding("partial"))
    size = Size(size.nodes, size.bytes + _RESULT)
    sees_partial = "partial" in compiler.used

    def results(scope: Variables, frame: Frame) -> list[Any] | None:
        made: list[Any] = []
        try:
            for inner in _scopes(domains, scope, frame, size):
                if sees_partial:
                    frame.items(len(made))
                    inner = VariableScope("partial", made.copy(), inner)
                made.append(body(inner, frame))
        except _NotIterable:
            return None
        return made

    return results


def _quantified(compiler: Compiler, node: Quantified, site: NodeSite) -> Closure:
    domains, inside = _domains(compiler, node.iterators, site)
    body, size = compiler.repeated(node.body, inside)
    decisive = node.decisive

    def decide(scope: Variables, frame: Frame) -> bool | None:
        answer: bool | None = not decisive
        try:
            for inner in _scopes(domains, scope, frame, size):
                value: object = body(inner, frame)
                if value is decisive:
                    return decisive
                if type(value) is not bool:
                    answer = None
        except _NotIterable:
            return None
        return answer

    return decide


def _domains(compiler: Compiler, iterators: Iterators, site: NodeSite) -> tuple[Domains, NodeSite]:
    """Each domain sees the variables of the iterators before it."""
    domains: Domains = []
    for name, domain in iterators:
        closure, size = compiler.repeated(domain, site)
        domains.append((name, closure, size))
        site = site.binding(name)
    return domains, site


def _scopes(domains: Domains, scope: Variables, frame: Frame, body: Size) -> Iterator[Variables]:
    """One scope for each combination; the last variable moves fastest. What follows from it is paid before."""
    (name, domain, _), rest = domains[0], domains[1:]
    inside = rest[0][2] if rest else body
    each, built = _ITERATION + inside.nodes, inside.bytes
    for item in _items(domain(scope, frame)):
        # As `frame.spend(each, built)`, without the call.
        frame.work_left -= each
        frame.bytes_left -= built
        if frame.work_left < 0 or frame.bytes_left < 0:
            frame.spend(0, 0)
        inner = VariableScope(name, item, scope)
        if rest:
            yield from _scopes(rest, inner, frame, body)
        else:
            yield inner


def _items(domain: Any) -> Sequence[Any]:
    if type(domain) is list:
        return domain
    if type(domain) is not Range:
        raise _NotIterable
    start, end = as_int(domain.start), as_int(domain.end)
    if start is None or end is None:
        raise _NotIterable
    step = 1 if start <= end else -1
    return range(start if domain.start_included else start + step, end + step if domain.end_included else end, step)


def _filter(compiler: Compiler, node: Filter, site: NodeSite) -> Closure:
    source = compiler.closure(node.source, site)
    index = _constant_index(node.condition)
    if index is not None:
        return lambda scope, frame: _at(_as_list(source(scope, frame)), index)
    condition, size = compiler.repeated(node.condition, site.filtering())
    each, built = _ITERATION + size.nodes, 8 + size.bytes

    def filtered(scope: Variables, frame: Frame) -> Any:
        """What the condition gives for the first item tells an index from a condition."""
        items = _as_list(source(scope, frame))
        if items is None:
            return None
        kept: list[Any] = []
        for position, item in enumerate(items):
            frame.spend(each, built)
            inner = ItemScope(item, scope) if type(item) is dict else VariableScope("item", item, scope)
            answer = condition(inner, frame)
            if answer is True:
                kept.append(item)
            elif answer is not False and answer is not None:
                return _at(items, as_int(answer)) if position == 0 else None
        return None if not items and as_int(condition(scope, frame)) is not None else kept

    return filtered


def _constant_index(condition: Node) -> int | None:
    if isinstance(condition, Negation) and isinstance(condition.operand, LiteralNode):
        index = as_int(condition.operand.value)
        return None if index is None else -index
    return as_int(condition.value) if isinstance(condition, LiteralNode) else None


def _as_list(value: Any) -> list[Any] | None:
    return value if type(value) is list or value is None else [value]


def _at(items: list[Any] | None, index: int | None) -> Any:
    """The first is 1, the last -1."""
    if items is None or index is None or not 0 < abs(index) <= len(items):
        return None
    return items[index - 1] if index > 0 else items[index]


COMPILE.update({For: _for, Quantified: _quantified, Filter: _filter})
