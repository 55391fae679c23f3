"""A compiled expression: total and deterministic. For the same variables and time it gives the same value, or null."""

from collections.abc import Callable, Mapping
from typing import Any

from conjoin.feel.compiling import Compiler, NodeSite
from conjoin.feel.compiling.running import Closure, Frame, Unmetered, Variables
from conjoin.feel.errors import BudgetSpent, FeelSyntaxError, Unanswerable
from conjoin.feel.parsing.parser import parse
from conjoin.feel.parsing.tree import Name, Path
from conjoin.feel.text import to_json_value

_UNMETERED = Unmetered(0)
_FEW_NODES = 4
_LONGEST_SHOWN = 100
_NULL = (Unanswerable, ArithmeticError, RecursionError)
"""The last two are a net under our own checks: an expression never fails."""

Stopped = Callable[[str], Exception]
"""Makes what is raised when an evaluation costs too much, from a text for people."""


class CompiledExpression:
    """Called with variables and the command's time (microseconds since 1970). Variables with a `meter` (an object with
    `work_left` and `bytes_left`, None at first) hand what is left of a budget from one expression to the next.

    `names` are the variables it reads, in order of first use, without those a filter's items may shadow.
    `is_constant`: no variables and no clock, so it has one value for ever. `is_reference`: a variable or a path, and
    nothing is computed.
    """

    __slots__ = ("text", "names", "is_constant", "is_reference", "_closure", "_compiler", "_stopped", "_is_short")

    def __init__(
        self, text: str, closure: Closure, compiler: Compiler, is_reference: bool, stopped: Stopped | None
    ) -> None:
        self.text = text
        self.names: tuple[str, ...] = tuple(compiler.names)
        self.is_constant = not (compiler.names or compiler.may_name_variables or compiler.has_clock)
        self.is_reference = is_reference
        self._closure = closure
        self._compiler = compiler
        self._stopped = stopped
        self._is_short = is_reference and compiler.size.nodes <= _FEW_NODES

    def __call__(self, variables: Mapping[str, Any], now: int) -> Any:
        try:
            if self._is_short:
                return self._closure(variables, _UNMETERED)
            # A plain dict has no meter, and to look for what is not there takes as long as a small expression.
            meter = None if type(variables) is dict else getattr(variables, "meter", None)
            return self._closure(variables, Frame(now)) if meter is None else self._metered(variables, now, meter)
        except BudgetSpent as spent:
            if self._stopped is None:
                return None
            shown = self.text if len(self.text) <= _LONGEST_SHOWN else f"{self.text[: _LONGEST_SHOWN - 3]}..."
            raise self._stopped(f"the expression {shown} was stopped: {spent}") from None
        except _NULL:
            return None

    def _metered(self, variables: Mapping[str, Any], now: int, meter: Any) -> Any:
        """With what the expressions before it have left."""
        frame = Frame(now)
        if meter.work_left is not None:
            frame.work_left, frame.bytes_left = meter.work_left, meter.bytes_left
        try:
            return self._closure(variables, frame)
        finally:
            meter.work_left, meter.bytes_left = frame.work_left, frame.bytes_left

    def is_cheap(self, steps: int) -> bool:
        """Whether it takes at most so many steps without any variable."""
        frame = Frame(0)
        frame.work_left = steps
        try:
            self._closure({}, frame)
        except BudgetSpent:
            return False
        except _NULL:
            pass
        return True

    def stored(self) -> "CompiledExpression":
        """The same for a value that becomes a variable: JSON, whatever the expression computes."""
        if self.is_reference:
            return self
        closure = self._closure

        def stored(scope: Variables, frame: Frame) -> Any:
            return to_json_value(closure(scope, frame), frame)

        return CompiledExpression(self.text, stored, self._compiler, self.is_reference, self._stopped)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def compile_expression(text: str, stopped: Stopped | None = None) -> CompiledExpression:
    """The expression a text (without its leading `=`) stands for; `FeelSyntaxError` says what is wrong with it.

    An evaluation that costs too much raises what `stopped` makes; without it, the value is null.
    """
    compiler = Compiler(text)
    try:
        tree = parse(text)
        closure = compiler.closure(tree, NodeSite())
    except RecursionError:
        raise FeelSyntaxError(text, 1, "nesting", "the expression is nested too deeply") from None
    while isinstance(tree, Path):
        tree = tree.source
    return CompiledExpression("=" + text, closure, compiler, isinstance(tree, Name), stopped)
