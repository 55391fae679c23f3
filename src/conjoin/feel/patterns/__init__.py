"""Regular expressions for `matches`, `replace`, `split` and `extract`, in linear time and without backtracking.

Python's `re` is not used: a pattern comes from a model or a variable, and one that backtracks for ever would stop the
engine. Each step of the machine is paid from the budget of the evaluation. A pattern we do not match makes the
function null; one written out in the expression is refused with it.
"""

import re

from conjoin.feel.budget import Budget
from conjoin.feel.patterns.machine import Machine, Spans, compiled
from conjoin.feel.patterns.syntax import PatternError

_READ = 20
"""The work of reading one character of a pattern."""
_REFERENCE = re.compile(r"\\(.)|\$([0-9])|([$\\])", re.DOTALL)


def problem_of(pattern: str, flags: str = "") -> str | None:
    """Why a pattern is not one we match."""
    try:
        compiled(pattern, flags)
    except PatternError as error:
        return str(error)
    return None


def _machine(budget: Budget, text: str, pattern: str, flags: str | None = None) -> Machine | None:
    budget.work(_READ * (len(pattern) + len(flags or "")))
    try:
        return Machine(compiled(pattern, flags or ""), text, budget)
    except PatternError:
        return None


def found(budget: Budget, text: str, pattern: str, flags: str | None = None) -> bool | None:
    """Whether some part of the text matches."""
    machine = _machine(budget, text, pattern, flags)
    return None if machine is None else machine.search(0) is not None


def extracted(budget: Budget, text: str, pattern: str) -> list[str] | None:
    machine = _machine(budget, text, pattern)
    return None if machine is None else [text[spans[0] : spans[1]] for spans in machine.matches()]


def split(budget: Budget, text: str, delimiter: str) -> list[str] | None:
    machine = _machine(budget, text, delimiter)
    if machine is None:
        return None
    parts, start = [], 0
    for spans in machine.matches():
        # Nothing, found at either end, separates nothing.
        if spans[1] > spans[0] or 0 < spans[0] < len(text):
            parts.append(text[start : spans[0]])
            start = spans[1]
    return [*parts, text[start:]]


def replaced(budget: Budget, text: str, pattern: str, replacement: str, flags: str | None = None) -> str | None:
    """`$1` in the replacement is the first group, `$0` the match; a backslash makes the next character itself."""
    machine = _machine(budget, text, pattern, flags)
    if machine is None:
        return None
    parts, start = [], 0
    for spans in machine.matches():
        inserted = _inserted(replacement, text, spans)
        if inserted is None:
            return None
        budget.text(spans[0] - start + len(inserted))
        budget.work(len(replacement) >> 3)
        parts += [text[start : spans[0]], inserted]
        start = spans[1]
    return "".join((*parts, text[start:]))


def _inserted(replacement: str, text: str, spans: Spans) -> str | None:
    """The replacement for one match; None when it names a group that the pattern does not have."""
    if "$" not in replacement and "\\" not in replacement:
        return replacement
    wanted = [match for match in _REFERENCE.finditer(replacement) if match[2] or match[3]]
    if any(match[3] or 2 * int(match[2]) >= len(spans) for match in wanted):
        return None
    return _REFERENCE.sub(lambda match: match[1] or _group(text, spans, int(match[2])), replacement)


def _group(text: str, spans: Spans, number: int) -> str:
    start, end = spans[2 * number], spans[2 * number + 1]
    return text[start:end] if start >= 0 and end >= 0 else ""
