"""How a built-in function is called: a table row says it in one line, and the compiler checks calls against it.

`"string:string, start position:number, length?:number"`: a name and a type each; `?` after the name, it may be left
out; `?` after the type, it may be null; several types with `|`; `any` takes everything, null too; `*lists` takes any
number of arguments. An argument of another type makes the call null; a wrong number of them is refused at compile time.

Every call is paid here, so that no function can forget it: before it runs by its arguments, then by its result. A row
that says nothing pays for everything inside of both; `looks` and `builds` say where a function does less. One that
`spends` gets the budget as its first argument and pays for what depends on more than that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from conjoin.feel.budget import Budget, Built, Cost, all_new, deep, not_built, nothing
from conjoin.feel.types import IS_OF_TYPE

Check = Callable[[Any], bool]


class FunctionParameter(NamedTuple):
    name: str
    accepts: Check
    optional: bool


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function; `run` is called with what `takes` has let pass."""

    run: Callable[..., Any]
    parameters: tuple[FunctionParameter, ...]
    variadic: bool
    looks: Cost
    builds: Built
    spends: bool

    def call(self, budget: Budget, values: Sequence[Any]) -> Any:
        if self.looks is not nothing:
            self.looks(budget, values)
        result = self.run(budget, *values) if self.spends else self.run(*values)
        if self.builds is not not_built:
            self.builds(budget, result)
        return result

    def takes_count(self, count: int) -> bool:
        if self.variadic:
            return count >= len(self.parameters)
        required = sum(not parameter.optional for parameter in self.parameters)
        return required <= count <= len(self.parameters)

    def takes(self, values: Sequence[Any]) -> bool:
        # A variadic tail takes anything: the function looks for itself.
        for parameter, value in zip(self.parameters, values, strict=False):  # noqa: SIM110 - this is faster
            if not parameter.accepts(value):
                return False
        return True


def overload(
    signature: str, run: Callable[..., Any], looks: Cost = deep, builds: Built = all_new, spends: bool = False
) -> Overload:
    parameters = tuple(_parameter(part.strip()) for part in signature.split(","))
    return Overload(run, parameters, "*" in signature, looks, builds, spends)


def _parameter(text: str) -> FunctionParameter:
    if text.startswith("*"):
        return FunctionParameter(text[1:], _anything, True)
    name, _, types = text.partition(":")
    return FunctionParameter(name.rstrip("?"), _check(types), name.endswith("?"))


def _check(types: str) -> Check:
    if types == "any":
        return _anything
    checks = [IS_OF_TYPE[name] for name in types.rstrip("?").split("|")]
    if types.endswith("?"):
        checks.append(lambda value: value is None)
    return checks[0] if len(checks) == 1 else lambda value: any(check(value) for check in checks)


def _anything(value: Any) -> bool:
    return True


def arranged(overloads: Sequence[Overload], names: Sequence[str]) -> tuple[Overload, list[int | None]] | None:
    """The first overload with these parameter names, and for each of its parameters which argument it gets."""
    for candidate in overloads:
        expected = [parameter.name for parameter in candidate.parameters]
        required = {parameter.name for parameter in candidate.parameters if not parameter.optional}
        if len(set(names)) == len(names) and required <= set(names) <= set(expected) and not candidate.variadic:
            order = [names.index(name) if name in names else None for name in expected]
            while order and order[-1] is None:
                order.pop()
            return candidate, order
    return None


def described(name: str, overloads: Sequence[Overload]) -> str:
    """All ways to call a function, for a message."""
    return " or ".join(f"{name}({', '.join(_shown(candidate))})" for candidate in overloads)


def _shown(candidate: Overload) -> list[str]:
    mark = "..." if candidate.variadic else "?"
    return [parameter.name + (mark if parameter.optional else "") for parameter in candidate.parameters]
