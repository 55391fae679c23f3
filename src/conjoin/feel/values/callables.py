"""A function that an expression defines: parameters, and a body that sees what was in scope where it was defined."""

from collections.abc import Callable, Sequence
from typing import Any


class Function:
    """Called with a value for each parameter; anything else is null. Two functions are never equal."""

    __slots__ = ("parameters", "_body")

    def __init__(self, parameters: tuple[str, ...], body: Callable[[dict[str, Any]], Any]) -> None:
        self.parameters = parameters
        self._body = body

    def __call__(self, arguments: Sequence[Any]) -> Any:
        if len(arguments) != len(self.parameters):
            return None
        return self._body(dict(zip(self.parameters, arguments, strict=True)))
