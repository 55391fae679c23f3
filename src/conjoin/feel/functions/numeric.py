"""Numeric functions, exact or to 34 digits; `abs` is also for durations."""

from collections.abc import Callable
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_DOWN,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    ROUND_UP,
    Decimal,
)

from conjoin.feel.budget import flat
from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.numbers import CONTEXT, Number, as_int, finite, simplified
from conjoin.feel.temporal import DaysTime, YearsMonths

_MODES = {
    **{"UP": ROUND_UP, "DOWN": ROUND_DOWN, "CEILING": ROUND_CEILING, "FLOOR": ROUND_FLOOR},
    **{"HALF_UP": ROUND_HALF_UP, "HALF_DOWN": ROUND_HALF_DOWN, "HALF_EVEN": ROUND_HALF_EVEN},
}
_LARGEST_SCALE = 6_111
_COMPUTED = 500
"""The work of a root, a logarithm or an exponential to 34 digits."""


def _rounded(number: Number, scale: Number, mode: str) -> Number | None:
    places = as_int(scale)
    if places is None or abs(places) > _LARGEST_SCALE:
        return None
    rounded = Decimal(number).quantize(Decimal((0, (1,), -places)), mode, CONTEXT)
    return simplified(rounded) if places <= 0 else finite(rounded)


def _decimal(number: Number, scale: Number, mode: str = "HALF_EVEN") -> Number | None:
    name = mode.upper()
    if name == "UNNECESSARY":
        rounded = _rounded(number, scale, ROUND_HALF_EVEN)
        return rounded if rounded == number else None
    return _rounded(number, scale, _MODES[name]) if name in _MODES else None


def _rounding(mode: str) -> tuple[Overload, ...]:
    return (overload("n:number, scale?:number", lambda number, scale=0: _rounded(number, scale, mode)),)


def _modulo(dividend: Number, divisor: Number) -> Number | None:
    """With the sign of the divisor."""
    if not divisor:
        return None
    if type(dividend) is int and type(divisor) is int:
        return dividend % divisor
    rest = CONTEXT.remainder(dividend, divisor)
    return finite(CONTEXT.add(rest, divisor) if rest and (rest < 0) != (divisor < 0) else rest)


def _computed(function: Callable[[Decimal], Decimal]) -> tuple[Overload, ...]:
    return (overload("number:number", lambda number: simplified(function(Decimal(number))), flat(_COMPUTED)),)


def _absolute(number: Number) -> Number | None:
    # Python's own abs would round a Decimal to the digits of whatever context the thread has.
    return abs(number) if type(number) is int else finite(CONTEXT.abs(number))


def _is_odd(number: Number) -> bool | None:
    whole = as_int(number)
    return None if whole is None else whole % 2 == 1


def _is_even(number: Number) -> bool | None:
    whole = as_int(number)
    return None if whole is None else whole % 2 == 0


NUMERIC: dict[str, tuple[Overload, ...]] = {
    "decimal": (overload("n:number, scale:number, mode?:string", _decimal),),
    "floor": _rounding(ROUND_FLOOR),
    "ceiling": _rounding(ROUND_CEILING),
    "round up": _rounding(ROUND_UP),
    "round down": _rounding(ROUND_DOWN),
    "round half up": _rounding(ROUND_HALF_UP),
    "round half down": _rounding(ROUND_HALF_DOWN),
    "abs": (
        overload("number:number", _absolute),
        overload("n:number", _absolute),
        overload("n:days and time duration", lambda duration: DaysTime(abs(duration.microseconds))),
        overload("n:years and months duration", lambda duration: YearsMonths(abs(duration.months))),
    ),
    "modulo": (overload("dividend:number, divisor:number", _modulo),),
    "sqrt": _computed(CONTEXT.sqrt),
    "log": _computed(CONTEXT.ln),
    "exp": _computed(CONTEXT.exp),
    "odd": (overload("number:number", _is_odd),),
    "even": (overload("number:number", _is_even),),
}
