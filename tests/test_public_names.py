"""`import conjoin` offers what its users need, and loads neither Spark nor httpx before they are used."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import conjoin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOST = {
    "name": "paid",
    "correlation_key": "o-1",
    "verdict": "discarded",
    "reason": "ttl_zero",
    "detail": '{"near_misses": [{"kind": "never_awaited", "similar": "Paid"}]}',
}


def test_every_public_name_is_there() -> None:
    assert [name for name in conjoin.__all__ if getattr(conjoin, name) is None] == []


def test_import_loads_neither_spark_nor_httpx() -> None:
    script = "import conjoin, sys; print({'httpx', 'pyspark'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "set()\n"


def test_without_spark_a_session_names_the_extra() -> None:
    script = "import sys; sys.modules['pyspark'] = None; import conjoin; conjoin.spark_session()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "conjoin.spark_session needs Apache Spark: pip install 'conjoin[spark]'" in done.stderr


def test_a_row_of_verdicts_becomes_its_sentence() -> None:
    assert conjoin.sentence(LOST) == (
        "Discarded: nobody waited for 'paid' with key 'o-1' and its time to live is 0; "
        "no process that is deployed ever waits for this name - did you mean 'Paid'?"
    )


@pytest.mark.parametrize("left_out", ["name", "correlation_key", "detail"])
def test_a_column_that_is_missing_only_makes_the_sentence_shorter(left_out: str) -> None:
    row = {name: value for name, value in LOST.items() if name != left_out}
    assert conjoin.sentence(row).startswith("Discarded: nobody waited for ")


def test_a_row_of_spark_is_taken_as_it_is(spark: "SparkSession") -> None:
    [row] = spark.createDataFrame([tuple(LOST.values())], list(LOST)).collect()
    assert conjoin.sentence(row) == conjoin.sentence(LOST)


def test_a_running_session_is_taken_as_it_is(spark: "SparkSession") -> None:
    assert conjoin.spark_session() is spark
