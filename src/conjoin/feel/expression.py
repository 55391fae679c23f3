"""A compiled expression: total and deterministic. For the same variables and time it gives the same value, or null."""

from collections.abc import Mapping
from typing import Any

from conjoin.feel.compiling import Compiler, Site
from conjoin.feel.compiling.running import Closure, Frame
from conjoin.feel.errors import FeelSyntaxError, Unanswerable
from conjoin.feel.parsing.parser import parse
from conjoin.feel.parsing.tree import Name, Node, Path
from conjoin.feel.text import to_json_value

_UNUSED = Frame(0)


class Expression:
    """Called with variables and the command's time (microseconds since 1970).

    `names` are the variables it reads, in order of first use, without those a filter's items may shadow.
    `is_constant`: no variables and no clock, so it has one value for ever. `is_reference`: a variable or a path, and
    nothing is computed.
    """

    __slots__ = ("text", "names", "is_constant", "is_reference", "_closure", "_compiler", "_needs_frame")

    def __init__(self, text: str, closure: Closure, compiler: Compiler, is_reference: bool) -> None:
        self.text = text
        self.names: tuple[str, ...] = tuple(compiler.names)
        self.is_constant = not (compiler.names or compiler.may_name_variables or compiler.has_clock)
        self.is_reference = is_reference
        self._closure = closure
        self._compiler = compiler
        self._needs_frame = compiler.needs_frame

    def __call__(self, variables: Mapping[str, Any], now: int) -> Any:
        try:
            return self._closure(variables, Frame(now) if self._needs_frame else _UNUSED)
        except (Unanswerable, ArithmeticError, RecursionError):
            # The last two are a net under our own checks: an expression never fails.
            return None

    def stored(self) -> "Expression":
        """The same for a value that becomes a variable: JSON, whatever the expression computes."""
        if self.is_reference:
            return self
        closure = self._closure
        return Expression(
            self.text, lambda scope, frame: to_json_value(closure(scope, frame)), self._compiler, self.is_reference
        )

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def compile_expression(text: str) -> Expression:
    """The expression a text (without its leading `=`) stands for; `FeelSyntaxError` says what is wrong with it."""
    compiler = Compiler(text)
    try:
        tree = parse(text)
        closure = compiler.closure(tree, Site())
    except RecursionError:
        raise FeelSyntaxError(text, 1, "nesting", "the expression is nested too deeply") from None
    return Expression("=" + text, closure, compiler, _is_reference(tree))


def _is_reference(tree: Node) -> bool:
    while isinstance(tree, Path):
        tree = tree.source
    return isinstance(tree, Name)
