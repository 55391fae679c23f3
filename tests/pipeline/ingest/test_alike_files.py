"""Files that begin alike are asked about once; those that only might are asked about one by one."""

import gzip
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conjoin.pipeline.ingest.alike_files import asked_once, first_line, parquet_look
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import create_broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEADER = "name,key,ttl\n"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with closing(create_broker(tmp_path / "store", 2)) as broker:
        yield broker


def test_one_of_those_that_look_alike_answers_for_all_and_a_failure_is_its_own() -> None:
    asked: list[str] = []

    def ask(file: str) -> str:
        asked.append(file)
        if file == "a1":
            raise ValueError(file)
        return file.upper()

    files = ["a1", "a2", "a3", "b1", "?1", "?2"]
    found = dict(asked_once(files, lambda file: None if file[0] == "?" else file[0], ask, (ValueError,)))
    assert asked == ["a1", "a2", "b1", "?1", "?2"]
    assert isinstance(found.pop("a1"), ValueError)
    assert found == {"a2": "A2", "a3": "A2", "b1": "B1", "?1": "?1", "?2": "?2"}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a,b\n1,2\n", b"a,b"),
        (b"a,b\r\n1,2\r\n", b"a,b"),
        (b"a,b", None),
        (b"\na,b\n", None),
        (b'"a\nb",c\n', None),
        (b"a,b\r1,2\r\n", None),
        (b"\xef\xbb\xbfa,b\n", None),
        (b"x" * 100_000 + b"\n", None),
    ],
)
def test_only_a_plain_first_line_is_compared(tmp_path: Path, content: bytes, line: bytes | None) -> None:
    file, packed = tmp_path / "a%62 #.csv", tmp_path / "a.csv.gz"
    file.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    assert first_line(f"file:{file}") == first_line(f"file://{packed}") == line
    assert first_line(f"hdfs:{file}") is None
    assert first_line(f"file:{tmp_path}/nowhere.csv") is None


def test_parquet_files_are_alike_by_schema_and_what_their_writers_noted(tmp_path: Path) -> None:
    def look(name: str, schema: pa.Schema) -> object:
        pq.write_table(schema.empty_table(), tmp_path / name)
        return parquet_look(f"file:{tmp_path / name}")

    one = pa.schema([("name", pa.string()), ("key", pa.int64())])
    assert look("a", one) == look("b", one) is not None
    others = [pa.schema([("name", pa.string()), ("key", pa.int32())]), one.with_metadata({"of": "another"})]
    assert len({look("a", one), *(look("c", other) for other in others)}) == 3
    (tmp_path / "broken").write_bytes(b"PAR1 and nothing else")
    assert parquet_look(f"file:{tmp_path / 'broken'}") is None


def test_a_batch_of_many_files_takes_no_job_a_file(spark: "SparkSession", broker: Broker, tmp_path: Path) -> None:
    from conjoin.pipeline.ingest.batch import Ingest
    from conjoin.pipeline.ingest.stream import take_files

    files = []
    for number in range(30):
        text, table = tmp_path / f"{number}.csv", tmp_path / f"{number}.parquet"
        text.write_text(f"{HEADER}paid,c-{number},1h\n")
        pq.write_table(pa.table({"name": ["paid"], "key": [f"p-{number}"]}), table)
        lines = tmp_path / f"{number}.jsonl"
        lines.write_text(f'{{"name": "paid", "key": "j-{number}"}}\n')
        files += [f"file:{text}", f"file:{table}", f"file:{lines}"]
    sizes = {file: Path(file.removeprefix("file:")).stat().st_size for file in files}
    total: list[int] = []
    job = Ingest(broker, "test", None, lambda done: total.append(done.messages))
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    take_files(spark, job, sorted(files), sizes)
    assert total == [90]
    # Some for one header and one schema, and those of the batch itself.
    assert scheduler.numTotalJobs() - before < 15


def test_a_file_that_is_cut_though_nobody_expected_it_is_counted_after_all(
    spark: "SparkSession", broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conjoin.pipeline.ingest import stream
    from conjoin.pipeline.ingest.batch import Ingest
    from conjoin.store import tables as t

    file = tmp_path / "large.jsonl"
    file.write_text("".join(f'{{"name": "paid", "key": "k-{n}"}}\n' for n in range(1, 401)))
    monkeypatch.setattr(stream, "_never_cut", lambda *_: 1 << 40)
    setting = "spark.sql.files.maxPartitionBytes"
    spark.conf.set(setting, "3000b")
    try:
        stream.take_files(spark, Ingest(broker, "test"), [f"file:{file}"], {f"file:{file}": file.stat().st_size})
    finally:
        spark.conf.unset(setting)
    rows = list(broker.store.rows(t.MESSAGE, {}, None, 1_000))
    assert sorted(int(row.correlation_key[2:]) for row in rows) == list(range(1, 401))
    assert all(row.message_id == f"file:{file}:{row.correlation_key[2:]}" for row in rows)
