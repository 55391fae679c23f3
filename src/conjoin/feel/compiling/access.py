"""Literals, variables, paths, lists, contexts and ranges. `=orderId` and `=order.id` are a lookup or two."""

from typing import Any

from conjoin.feel.compiling.compiler import COMPILE, Compiler, NodeSite
from conjoin.feel.compiling.running import Closure, Frame, NameScope, Variables
from conjoin.feel.parsing.tree import ContextOf, ListOf, LiteralNode, Name, Path, RangeOf
from conjoin.feel.properties import property_of
from conjoin.feel.types import Range


def _literal(compiler: Compiler, node: LiteralNode, site: NodeSite) -> Closure:
    value = node.value
    return lambda scope, frame: value


def _name(compiler: Compiler, node: Name, site: NodeSite) -> Closure:
    name = node.name
    compiler.note_name(name, site)
    return lambda scope, frame: scope.get(name)


def _path(compiler: Compiler, node: Path, site: NodeSite) -> Closure:
    key = node.key
    if isinstance(node.source, Name):
        return _path_of_variable(compiler, node.source.name, key, site)
    source = compiler.closure(node.source, site)

    def path(scope: Variables, frame: Frame) -> Any:
        value = source(scope, frame)
        return value.get(key) if type(value) is dict else property_of(value, key, frame)

    return path


def _path_of_variable(compiler: Compiler, name: str, key: str, site: NodeSite) -> Closure:
    compiler.note_name(name, site)

    def path(scope: Variables, frame: Frame) -> Any:
        value = scope.get(name)
        return value.get(key) if type(value) is dict else property_of(value, key, frame)

    return path


def _list(compiler: Compiler, node: ListOf, site: NodeSite) -> Closure:
    items = [compiler.closure(item, site) for item in node.items]
    return lambda scope, frame: [item(scope, frame) for item in items]


def _context(compiler: Compiler, node: ContextOf, site: NodeSite) -> Closure:
    entries, inside = [], site
    for key, value in node.entries:
        entries.append((key, compiler.closure(value, inside)))
        inside = inside.binding(key)
    if compiler.used.isdisjoint(key for key, _ in entries):
        return lambda scope, frame: {key: value(scope, frame) for key, value in entries}
    return _context_seeing_itself(entries)


def _context_seeing_itself(entries: list[tuple[str, Closure]]) -> Closure:
    def context(scope: Variables, frame: Frame) -> dict[str, Any]:
        made: dict[str, Any] = {}
        inner = NameScope(made, scope)
        for key, value in entries:
            made[key] = value(inner, frame)
        return made

    return context


def _range(compiler: Compiler, node: RangeOf, site: NodeSite) -> Closure:
    start, end = compiler.closure(node.start, site), compiler.closure(node.end, site)
    start_included, end_included = node.start_included, node.end_included
    return lambda scope, frame: Range(start(scope, frame), end(scope, frame), start_included, end_included)


COMPILE.update({LiteralNode: _literal, Name: _name, Path: _path, ListOf: _list, ContextOf: _context, RangeOf: _range})
