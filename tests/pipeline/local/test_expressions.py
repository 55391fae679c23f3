"""The local engine gives every expression that the rules of reading are made of the meaning that Spark gives it.

Values are made to trip it up. Where it does not know for certain it says so (`NotLocal`), and then nothing is compared;
what people write every day it must know.
"""

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from conjoin.pipeline.correlate.columns import PRIOR, TABLES, Contract, fault_of, read_column, types_of
from conjoin.pipeline.correlate.local.frame import LocalFrame
from conjoin.pipeline.correlate.local.not_local import NotLocal
from conjoin.pipeline.correlate.local.types import ARROW_OF

EVERY_DAY = {
    "instant": [
        "2026-01-31T08:00:00Z", "2026-01-31T08:00:00.123456Z", "2026-01-31 08:00:00", "2026-01-31", "2026-01-31T08:00",
        "2026-01-31T08:00:00+02:00", "2026-01-31T08:00:00.5-05:30", "soon", "", " ", "12:30", "31.01.2026",
        "01/31/2026",
        "2026-02-30", "2026-13-01T00:00:00Z", "2026-01-31T25:00:00Z", "20260131",
    ],
    "long": [
        "0", "-1", "+7", " 12 ", "9223372036854775807", "9223372036854775808", "1.0", "1e3", "x", "", "12a", "007",
    ],
    "truth": ["true", "FALSE", "t", "n", "yes", "No", "1", "0", "2", "", " true ", "maybe"],
    "texts": ['["a","b"]', "[]", "", " ", "x", '["a",null]', "null"],
}  # fmt: skip
NASTY = [
    None, "", " ", "\t", "\x00", "\x1f", "\x7f", "\x85", "\xa0", "\u2003", "\u2028", "\n", " \n", "a\n", "é",
    "𝒳", "\u200b",
    "2026", "2026-1", "2026-1-2", "2026-01-31T", "2026-01-31 ", "2026-01-31T8", "2026-01-31T8:0:0",
    "2026-01-31T08:00:00.",
    "2026-01-31T08:00:00.1234567Z", "2026-01-31T08:00:00 Z", "2026-01-31T08:00:00z", "2026-01-31T08:00:00ZZ",
    "2026-01-31T08:00:00+2", "2026-01-31T08:00:00+2:0", "2026-01-31T08:00:00+02", "2026-01-31T08:00:00+0200",
    "2026-01-31T08:00:00+18:00", "2026-01-31T08:00:00+18:01", "2026-01-31T08:00:00+19:00", "2026-01-31T08:00:00-00:00",
    "2026-01-31T08:00:00 UTC", "2026-01-31T08:00:00GMT", "2026-01-31T08:00:00 Europe/Berlin",
    "2026-01-31T08:00:00UTC+1",
    "2026-01-31T08:00:00 rubbish", "2026-01-31T08:00:00+a", "2026-01-31T08:00:00.5.5", "2026-01-31T08:00:60Z",
    "2026-01-31T24:00:00Z", "2026-01-31X08:00", "2026-01-31T08-00", "12026-01-01", "1234567-01-01", "+2026-01-01",
    "-0001-01-01", "0000-01-01", "0001-01-01", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-01:00", "2024-02-29",
    "2023-02-29", "1582-10-10", "1900-01-01T00:00:00Z", "٢٠٢٦-01-01", "\t2026-01-31\n", "2026-01-31T08:00:00+1:00:00",
    "+", "-", "+-1", "--1", "1 2", "\t1", "1\x7f", "1\xa0", "٣", "-9223372036854775808",
    "-9223372036854775809", "0x1", "1L",
    "truE", "y", "\ttrue", "tru", "f", "[", "[1]", '["a"] x', "['a']", "{}", '{"a":1}', '"a"', "5", '[["a"]]',
    '["\\u0001"]',
]  # fmt: skip


def told(frame: Any, text: str) -> list[Any]:
    return [row[0] for row in frame.selectExpr(f"{text} as it").collect()]


def local(array: pa.Array, text: str) -> Any:
    """Of one value; the marker where it is not for this engine."""
    try:
        return LocalFrame({"c": array}, 1).selectExpr(f"{text} as it").arrays["it"].to_pylist()[0]
    except NotLocal:
        return NotLocal


def compared(spark: SparkSession, values: list[Any], kind: str, texts: dict[str, str]) -> dict[str, list[Any]]:
    """By expression, the values that this engine leaves to Spark. Whatever it answers is Spark's answer."""
    rows = [(number, value) for number, value in enumerate(values)]
    frame = spark.createDataFrame(rows, f"n int, c {kind}").orderBy("n")
    answers = [
        row.asDict() for row in frame.selectExpr(*(f"{text} as {name}" for name, text in texts.items())).collect()
    ]
    left: dict[str, list[Any]] = {name: [] for name in texts}
    differing = []
    for value, expected in zip(values, answers, strict=True):
        array = pa.array([value], ARROW_OF[kind])
        for name, text in texts.items():
            found = local(array, text)
            if found is NotLocal:
                left[name].append(value)
            elif found != expected[name]:
                differing.append((name, value, found, expected[name]))
    assert differing == []
    return left


def contracts() -> Iterator[tuple[str, Contract]]:
    seen = set()
    for table, columns in (*TABLES.items(), ("messages", PRIOR)):
        for contract in columns:
            if (contract.read, contract.fault, contract.name in ("name", "correlation_key", "ttl_ms")) not in seen:
                seen.add((contract.read, contract.fault, contract.name in ("name", "correlation_key", "ttl_ms")))
                yield table, contract


def expressions(spark: SparkSession, contract: Contract, kind: str) -> dict[str, str]:
    types = types_of(spark.createDataFrame([], f"{contract.name} {kind}"))
    read = read_column(contract, types)
    fault = fault_of(contract, read.value, read.present, blank=True)
    found = {"value": read.value} | ({"present": read.present} if read.present else {})
    found |= {"fault": fault} if fault else {}
    return {name: text.replace(f"`{contract.name}`", "`c`") for name, text in found.items()}


def random_texts(seed: int) -> list[str]:
    """Pieces of instants, numbers and lists, put together at random."""
    chance = random.Random(seed)
    pieces = [
        "2026",
        "-",
        "01",
        "1",
        "31",
        "T",
        " ",
        "08",
        ":",
        "00",
        ".",
        "5",
        "Z",
        "+",
        "02:00",
        "0",
        "9",
        "x",
        "\t",
        "é",
    ]
    shapes = ["{y}-{m}-{d}T{h}:{m}:{d}{z}", "{y}-{m}-{d} {h}:{m}:{d}.{y}{z}", "{y}-{m}-{d}", "{y}-{m}-{d}T{h}:{m}{z}"]
    texts = ["".join(chance.choices(pieces, k=chance.randint(1, 9))) for _ in range(300)]
    for _ in range(300):
        parts = {
            "y": chance.choice(["2026", "1999", "999", "20261"]),
            "z": chance.choice(["Z", "", "+1:30", "-03", "+3:0"]),
        }
        parts |= {name: str(chance.randint(0, 40)).zfill(chance.choice([1, 2])) for name in "mdh"}
        texts.append(chance.choice(shapes).format(**parts))
    return texts


@pytest.mark.parametrize(("table", "contract"), list(contracts()), ids=lambda it: getattr(it, "name", it))
def test_texts_are_read_as_spark_reads_them(table: str, contract: Contract, spark: SparkSession, seed: int) -> None:
    usual = [*EVERY_DAY.get(contract.read, []), "a", "x" * 40_000, "é" * 20_000]
    texts = expressions(spark, contract, "string")
    assert compared(spark, usual, "string", texts) == {name: [] for name in texts}
    compared(spark, [*NASTY, *random_texts(seed)], "string", texts)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int", [0, 1, -5, 2**31 - 1, None]),
        ("bigint", [0, 1, -5, 2**63 - 1, -(2**63), None]),
        ("double", [0.0, -0.0, 1.0, 1.5, -2.0, 1e18, 1e19, -1e19, float("nan"), float("inf"), None]),
        ("boolean", [True, False, None]),
        ("array<string>", [[], ["a", None, 'b"\n'], None]),
        ("void", [None]),
    ],
)
def test_columns_of_other_types_are_read_as_spark_reads_them(kind: str, values: list[Any], spark: SparkSession) -> None:
    texts: dict[str, str] = {}
    for number, (_, contract) in enumerate(contracts()):
        with suppress(AssertionError):  # no column of this type may be there
            found = expressions(spark, contract, kind)
            texts |= {f"{name}_{number}": text for name, text in found.items()}
    assert compared(spark, values, kind, texts) == {name: [] for name in texts}


def test_hashes_and_json_are_those_of_spark(spark: SparkSession, seed: int) -> None:
    chance = random.Random(seed)
    texts = ["x" * length for length in range(80)] + [
        chance.randbytes(30).hex() * chance.randint(0, 9) for _ in range(99)
    ]
    whole = {"hash": "xxhash64(c, c, n)", "hexed": "lower(hex(xxhash64(c, c is null)))", "row": "to_json(struct(c, n))"}
    columns: dict[str, list[Any]] = {
        "string": [None, *(it for it in NASTY if it), *texts],
        "bigint": [None, 0, -1, 2**63 - 1, chance.getrandbits(60)],
        "int": [None, 0, -1, 2**31 - 1],
        "boolean": [None, True, False],
        "double": [
            None,
            0.0,
            -0.0,
            1.5,
            100.0,
            1e7,
            123456789.0,
            0.001,
            0.0001,
            1e-9,
            1e300,
            float("nan"),
            float("inf"),
        ],
        "array<string>": [None, [], ["a"], ["a", None, "bb" * 30]],
    }
    for kind, values in columns.items():
        frame = spark.createDataFrame([(n, value) for n, value in enumerate(values)], f"n int, c {kind}").orderBy("n")
        here = LocalFrame(
            {"n": pa.array(range(len(values)), pa.int32()), "c": pa.array(values, ARROW_OF[kind])}, len(values)
        )
        expected = frame.selectExpr(*(f"{text} as {name}" for name, text in whole.items())).collect()
        for name, text in whole.items():
            found = here.selectExpr(f"{text} as it").arrays["it"].to_pylist()
            assert found == [row[name] for row in expected], (kind, name)


def test_instants_and_days_in_rows_are_written_as_spark_writes_them(spark: SparkSession) -> None:
    texts = [
        "2026-01-31T08:00:00.123456Z",
        "1969-12-31T23:59:59.999999Z",
        "2026-01-31T08:00:00Z",
        "0999-01-01T00:00:00Z",
    ]
    for kind, spark_kind in (("timestamp", "timestamp"), ("timestamp_ntz", "timestamp_ntz"), ("date", "date")):
        source = spark.createDataFrame([(text,) for text in texts], "c string")
        frame = source.selectExpr(f"cast(c as {spark_kind}) as c")
        micros = [row[0] for row in source.selectExpr("unix_micros(try_to_timestamp(c))").collect()]
        array = (
            pa.array([m // 86_400_000_000 for m in micros], pa.int32()).cast(pa.date32()) if kind == "date" else None
        )
        array = pa.array(micros, pa.int64()).cast(ARROW_OF[kind]) if array is None else array
        here = LocalFrame({"c": array}, len(texts))
        for text in ("to_json(struct(c))", "xxhash64(c)", *(["cast(c as string)"] if kind != "timestamp" else [])):
            assert here.selectExpr(f"{text} as it").arrays["it"].to_pylist() == told(frame, text), (kind, text)
