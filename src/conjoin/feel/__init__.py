"""FEEL: expression text, compiled once to closures. Imports nothing of ours, reads no clock, never fails at run time.

`compile_expression(text)` refuses what it does not run, by name and column. The result is called with variables and
the command's time; what cannot be computed is None. Numbers are int or Decimal. Time zones by name are kept as text
and have no offset, so comparing or subtracting such values is null. Patterns are matched without backtracking, in
linear time. One evaluation has one budget of work and of bytes (see `budget.py`): what costs more is stopped.
"""

from conjoin.feel.errors import FeelSyntaxError
from conjoin.feel.expression import CompiledExpression, compile_expression
from conjoin.feel.iso import parse_date_time, parse_duration
from conjoin.feel.temporal import Date, DateTime, Duration, Time
from conjoin.feel.text import to_json_value

__all__ = [
    "Date",
    "DateTime",
    "Duration",
    "CompiledExpression",
    "FeelSyntaxError",
    "Time",
    "compile_expression",
    "parse_date_time",
    "parse_duration",
    "to_json_value",
]
