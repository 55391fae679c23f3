"""A table of nasty values: numbers, durations, dates, texts and nesting at and beyond every limit, as JSON texts.

They are texts because some of them are no values in Python: `1e99999999999999999999999` is one line of JSON.
"""

import json
from random import Random
from typing import Any

from conjoin.kernel.storable import LONGEST_KEY, MOST_DEPTH, MOST_DIGITS

NUMBERS = (
    *("0", "-0", "-0.0", "1", "-1", "0.5", "1e0", "1E+2", "-1e-7", "3.000"),
    *("2147483647", "2147483648", "-2147483648", "-2147483649", "9007199254740993"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"),
    *("11111111111111111111", "18446744073709551615", "18446744073709551616", "1e20", "-1e20", "1e30"),
    *("1e308", "1e309", "1e999", "-1e999", "1e-999", "1e4000", "1e5000", "1e6144", "1e6200", "1e6201", "1e-6201"),
    *("1e10000", "1e200000", "1e1000000", "-1e1000000", "1e-1000000", "1e100000000", "1e999999999"),
    *("1e99999999999999999999999", "-1e99999999999999999999999", "1e-99999999999999999999999", "0e99999999999999"),
    *(
        "1" * 100,
        "9" * (MOST_DIGITS - 1),
        "9" * (MOST_DIGITS + 1),
        "7" * 20_000,
        "0." + "3" * 5_000,
        "1." + "3" * 4_000,
    ),
    *("1" * 400 + "." + "1" * 400 + "e400", "NaN", "Infinity", "-Infinity", "1e", "0x10", "1_000"),
)
DURATIONS = (
    *("PT1S", "PT0S", "-PT1S", "PT0.000001S", "P1D", "P1Y", "PT999999999999999999H", "P999999999Y", "P9999999999999Y"),
    *("-P999999999Y", "P99999999999999999999D", f"PT{'9' * 5_000}S", "P1Y2M3DT4H5M6.7S", "P", "PT", "P-1Y", "pt1s"),
    *(
        "1h",
        "0s",
        "99999999999999999999d",
        "9223372036854775807ms",
        "9223372036854775808ms",
        "9" * 5_000,
        "1e3s",
        "1" + " " * 100_000 + "x",
    ),
    *(
        "R3/PT1S",
        "R99999999999999999999/PT1S",
        "R/P999999999Y",
        f"R{'9' * 5_000}/PT1S",
        "R-1/PT1S",
        "R0/PT0S",
        "R1/P0D",
    ),
)
DATES = (
    *("2030-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "10000-01-01T00:00:00Z"),
    *("999999999-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "2030-02-30T00:00:00Z", "2030-01-01T24:00:00+99:99"),
    *("2030-01-01", "2030-01-01T00:00:00@Europe/Berlin", "1970-01-01T00:00:00Z"),
)
TEXTS = (
    *("", " ", "x", "\0", "a\0b", "\ud800", "x\udfff", "\ud83d\ude00", "\ufffe", "\u202e", "\x01\x1f\x7f", "\r\n\t"),
    *("--5", "-", "+", "٣٣", "²", "١e5", "null", "true", "=1/0", "= now()", "{", '"', "'; drop table message; --"),
    *("../../etc/passwd", "<script>alert(1)</script>", "%00", "$like", "a" * LONGEST_KEY, "a" * (LONGEST_KEY + 1)),
    *("é" * LONGEST_KEY, "😀" * 20_000, "x" * 200_000, '"\\ud800"', '"\\u0000"', "1e99999999999999999999999"),
    *('{"a":1e1000000}', "[" * 500 + "]" * 500, "9" * 5_000),
)


def nested(depth: int, inner: str = "1") -> str:
    return '{"a":' * (depth // 2) + "[" * (depth - depth // 2) + inner + "]" * (depth - depth // 2) + "}" * (depth // 2)


NESTING = (
    *(nested(MOST_DEPTH - 5), nested(MOST_DEPTH), nested(MOST_DEPTH + 1), nested(400), nested(900), nested(5_000)),
    *(nested(100_000), "[" + "[]," * 300 + "1]", "{" + ",".join(f'"k{n}":{n}' for n in range(5_000)) + "}"),
    *('{"\\u0000":1}', '{"\\ud800":1}', '{"":{"":[]}}', '{"a":1,"a":2}', "[null,true,1.5,{}]", "[]", "{}"),
)
WORDS = ("true", "false", "null")
LITERALS = (*NUMBERS, *NESTING, *WORDS, *map(json.dumps, (*DURATIONS, *DATES, *TEXTS)))
"""Every value as it stands in JSON."""
INTEGERS = (0, 1, -1, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, -(2**63), 10**18, 86_400_000)


def any_literal(rng: Random) -> str:
    return rng.choice(LITERALS)


def any_text(rng: Random) -> str:
    return rng.choice((*DURATIONS, *DATES, *TEXTS, *NUMBERS[:-6]))


def any_integer(rng: Random) -> int:
    return rng.choice(INTEGERS)


def nasty_object(rng: Random, *names: str) -> str:
    """An object as JSON in which each of these names has a nasty value."""
    parts = [f"{json.dumps(name)}:{any_literal(rng)}" for name in names]
    return "{" + ",".join(parts) + "}"


def is_json(text: str) -> bool:
    """For a check of the table itself: can Python's own parser read it?"""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return value is not Ellipsis
