"""Writing: rows are published when the write is committed, each once, whatever tasks and batches are repeated."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from conjoin.errors import InputError, StoreFailed
from conjoin.pipeline.ingest.tasks import ROW_BITS, Whole, commit_packs, mapping_task
from conjoin.pipeline.source import ConjoinDataSource, writer
from conjoin.pipeline.source.staged import in_order, staged
from conjoin.pipeline.source.writer import ConjoinStreamWriter, ConjoinWriter, ThisTask
from conjoin.pipeline.source.written_rows import Numbering, arriving
from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.ingest.row_notes import has_notes
from conjoin.runtime.opening import create_broker
from conjoin.runtime.run.batches import rows_source
from conjoin.store import tables as t

SHAPE = T.StructType([T.StructField("id", T.LongType())]).add("name", "string").add("key", "string")
KAFKA = T.StructType([T.StructField(name, T.StringType()) for name in ("topic", "key", "value", "timestamp")])
KAFKA = KAFKA.add("partition", "integer").add("offset", "long")
QUERY = "the-query"
NONE = Numbering("", 0)
Rows = list[dict[str, Any]]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = create_broker(tmp_path / "store", 3)
    yield broker
    broker.close()


def source(broker: Broker, **options: str) -> ConjoinDataSource:
    return ConjoinDataSource({"path": broker.store.address, "source": "orders", **options})


def paid(*numbers: int) -> Rows:
    return [{"id": n, "name": "paid", "key": f"k-{n}", "ttl": "1h"} for n in numbers]


def write(its: ConjoinWriter | ConjoinStreamWriter, *tasks: Rows) -> list[Any]:
    """What tasks with these rows tell the driver."""
    return [its.write([pa.RecordBatch.from_pylist(rows)]) for rows in tasks]


def keys(broker: Broker) -> Counter[str]:
    return Counter(row.correlation_key for row in broker.store.rows(t.MESSAGE, {}, None, 1_000))


def letters(broker: Broker) -> list[tuple[str, int, str]]:
    rows = broker.store.rows(t.DEAD_LETTER, {}, None, 1_000)
    return sorted((row.part, row.position, row.reason) for row in rows)


def notes(broker: Broker) -> list[str]:
    """Rows that are noted by themselves."""
    return [row.part for row in broker.store.rows(t.POSITION, {}, None, 10_000) if row.source == rows_source("orders")]


def test_rows_are_published_by_their_tasks_in_any_order_and_a_second_write_brings_only_what_is_new(
    broker: Broker,
) -> None:
    its = source(broker, position="id").writer(SHAPE, overwrite=False)
    nowhere = [{**row, "id": None} for row in paid(8, 9)]
    first = write(its, [*paid(5, 1, 3), {"id": 2, "name": None}, *nowhere])
    assert keys(broker) == Counter(f"k-{n}" for n in (1, 3, 5))
    found = [*first, *write(its, paid(4, 0))]
    assert keys(broker) == Counter(f"k-{n}" for n in (0, 1, 3, 4, 5))
    assert len(notes(broker)) == 8
    its.commit([*found, None])
    assert not notes(broker)
    assert [reason for _, _, reason in letters(broker)] == ["missing_name", "unreadable", "unreadable"]
    its.commit(write(its, paid(7, 0, 1), paid(3, 6), paid(5), paid(4)))
    assert keys(broker) == Counter(f"k-{n}" for n in (0, 1, 3, 4, 5, 6, 7))
    its.commit(write(its, nowhere))
    assert len(letters(broker)) == 3


def test_a_write_that_broke_off_goes_on_after_what_its_tasks_have_committed(broker: Broker) -> None:
    its = source(broker, position="id").writer(SHAPE, overwrite=False)
    its.abort(write(its, paid(9, 3, 7)))
    assert keys(broker) == Counter(["k-3", "k-7", "k-9"])
    again = source(broker, position="id").writer(SHAPE, overwrite=False)
    again.commit(write(again, paid(*range(5)), paid(*range(5, 10))))
    assert keys(broker) == Counter(f"k-{n}" for n in range(10))
    assert not notes(broker)


def test_a_write_in_order_publishes_no_row_that_a_write_has_published_which_broke_off(broker: Broker) -> None:
    its = source(broker, position="id").writer(SHAPE, overwrite=False)
    its.abort(write(its, paid(9, 3, 7)))
    for rows, left in ((range(6), 2), (range(13), 0)):
        ordered = source(broker, position="id", in_order="true").writer(SHAPE, overwrite=False)
        ordered.commit(write(ordered, paid(*rows)))
        assert keys(broker).total() == len(keys(broker))
        assert len(notes(broker)) == left
    assert keys(broker) == Counter(f"k-{n}" for n in range(13))


def test_a_write_that_ends_stands_for_nothing_behind_its_last_position(broker: Broker) -> None:
    its = source(broker, position="id").writer(SHAPE, overwrite=False)
    its.abort(write(its, paid(9, 3, 7)))
    for rows in (range(6), range(12)):
        its.commit(write(its, paid(*rows)))
    assert keys(broker) == Counter(f"k-{n}" for n in range(12))
    assert not notes(broker)


def test_ingest_takes_no_row_that_a_write_has_published_which_broke_off(broker: Broker) -> None:
    its = source(broker, position="id").writer(SHAPE, overwrite=False)
    write(its, paid(9, 3, 7))
    assert has_notes(broker.store, "orders")
    job = its._job()._replace(after_write=True)
    rows = arriving([pa.RecordBatch.from_pylist(paid(*range(12)))], its._request, NONE)
    ordered = in_order([staged(mapping_task(job)(rows), 3, "", {})])
    done = [row for batch in commit_packs(job, ordered) for row in batch.to_pylist()]
    assert keys(broker) == Counter(f"k-{n}" for n in range(12))
    counted: Counter[str] = Counter()
    for row in done:
        counted.update(dict(row["counts"]))
    assert (counted["rows"], counted["repeated"]) == (12, 3)
    rows = arriving([pa.RecordBatch.from_pylist(paid(3, 7, 9))], its._request, NONE)
    again = commit_packs(job, in_order([staged(mapping_task(job)(rows), 3, "", {})]))
    assert sum(dict(row["counts"])["repeated"] for batch in again for row in batch.to_pylist()) == 3
    assert keys(broker).total() == 12


def test_the_end_of_a_write_leaves_the_notes_of_another_alone(broker: Broker) -> None:
    shape = SHAPE.add("shop", "string")
    its = [source(broker, position="id", part="shop").writer(shape, overwrite=False) for _ in range(2)]
    rows = [[{**row, "shop": shop} for row in paid(*range(first, first + 6))] for shop, first in (("a", 0), ("b", 10))]
    other = write(its[1], rows[1][3:])
    its[0].commit(write(its[0], rows[0]))
    assert len(notes(broker)) == 3
    its[1].commit([*other, *write(its[1], rows[1][:3])])
    assert keys(broker) == Counter(f"k-{n}" for n in (*range(6), *range(10, 16)))
    assert not notes(broker)


def test_each_row_is_published_once_however_tasks_are_cut_repeated_and_mixed(broker: Broker, seed: int) -> None:
    chance = Random(seed)
    its = source(broker, position="id").writer(SHAPE, overwrite=False)
    for end in (30, 45, 80):
        rows = paid(*range(end))
        chance.shuffle(rows)
        cuts = sorted(chance.sample(range(1, end), 4))
        tasks = [rows[begin:stop] for begin, stop in zip([0, *cuts], [*cuts, end], strict=True)]
        attempts = [*tasks, *(task[: chance.randint(0, len(task))] for task in chance.choices(tasks, k=4))]
        chance.shuffle(attempts)
        found = write(its, *attempts)
        its.commit(found)
        # One that Spark has given up, and that goes on even so.
        write(its, tasks[0])
        assert keys(broker) == Counter(f"k-{n}" for n in range(end))


def test_rows_of_staged_writes_are_published_by_the_commit_in_the_order_of_their_positions(broker: Broker) -> None:
    its = source(broker, position="id", in_order="true").writer(SHAPE, overwrite=False)
    found = write(its, paid(5, 1, 3), paid(4, 0))
    assert not keys(broker)
    its.commit([*found, None])
    by_shard: dict[int, list[int]] = {}
    for row in sorted(broker.store.rows(t.MESSAGE, {}, None, 99), key=lambda row: row.key):
        by_shard.setdefault(shard_of(row.correlation_key, 3), []).append(int(row.correlation_key[2:]))
    assert all(numbers == sorted(numbers) for numbers in by_shard.values())
    assert keys(broker) == Counter(f"k-{n}" for n in (0, 1, 3, 4, 5))


def test_rows_of_two_sources_are_not_taken_for_one_another(broker: Broker) -> None:
    said = json.dumps({"name": "= name", "key": "= key", "ttl": "1h"})
    for name in ("orders", "refunds"):
        its = source(broker, position="id", source=name, mapping=said).writer(SHAPE, overwrite=False)
        its.commit(write(its, paid(1)))
    rows = broker.store.rows(t.MESSAGE, {}, None, 9)
    assert [(row.message_id, row.verdict) for row in rows] == [("orders:1", "buffered"), ("refunds:1", "buffered")]


def test_what_a_staged_task_that_is_not_counted_has_written_is_nowhere(broker: Broker) -> None:
    """Spark runs a slow task a second time, and asks the driver to commit one of the two."""
    its = source(broker, position="id", in_order="true").writer(SHAPE, overwrite=False)
    first, _ = write(its, paid(1, 2), paid(1, 2))
    its.commit([first])
    aborted = write(its, paid(8, 9))
    its.abort(aborted)
    assert keys(broker) == Counter(["k-1", "k-2"])


def test_batch_of_a_stream_whose_commit_broke_off_is_published_once_however_its_tasks_are_cut(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    its = source(broker).streamWriter(SHAPE, overwrite=False)
    firsts = count(0, 1 << ROW_BITS)
    monkeypatch.setattr(writer, "_this_task", lambda: ThisTask(QUERY, 0, Numbering(f"{QUERY}-7", next(firsts))))
    rows = [*paid(*range(20)), {"id": 20, "name": None}]
    some = write(its, rows[:12], rows[12:])
    job = its._job()._replace(whole=Whole(QUERY, 7))
    # The process ends when the first of three shards has committed.
    list(islice(commit_packs(job, in_order(some)), 1))
    assert 0 < len(keys(broker)) < 20
    its.commit(write(its, rows[15:], [], rows[3:15][::-1], rows[:3]), 7)
    assert keys(broker) == Counter(f"k-{n}" for n in range(20))
    assert len(letters(broker)) == 1
    its.commit(write(its, rows), 7)
    its.commit(write(its, paid(30, 31)), 8)
    assert keys(broker) == Counter(f"k-{n}" for n in (*range(20), 30, 31))
    monkeypatch.setattr(writer, "_this_task", lambda: ThisTask("another query", 0, Numbering("another query-0", 0)))
    its.commit(write(its, paid(40)), 0)
    assert keys(broker)["k-40"] == 1


def test_values_of_columns_are_json(broker: Broker) -> None:
    said = {"name": "paid", "key": "= id", "ttl": "1h", "variables": "= {at: at, price: price, tags: tags, raw: raw}"}
    its = source(broker, position="id", mapping=json.dumps(said)).writer(SHAPE, overwrite=False)
    row = {"id": 1, "at": datetime(2026, 1, 31, 8, 0, tzinfo=UTC), "price": Decimal("1.10"), "raw": b"\xff"}
    batch = pa.RecordBatch.from_pylist([{**row, "tags": [("a", 1)]}], pa.schema([
        ("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("price", pa.decimal128(9, 2)), ("raw", pa.binary()),
        ("tags", pa.map_(pa.string(), pa.int64())),
    ]))  # fmt: skip
    its.commit([its.write([batch])])
    [found] = broker.store.rows(t.MESSAGE, {}, None, 9)
    assert found.correlation_key == "1"
    assert found.variables == '{"at":"2026-01-31T08:00:00Z","price":1.10,"tags":{"a":1},"raw":"/w=="}'


def test_records_of_kafka_need_no_position(broker: Broker) -> None:
    said = {"name": "= type", "key": "= kafka.key", "variables": "= {trace: kafka.headers.trace, at: kafka.offset}"}
    its = source(broker, mapping=json.dumps(said)).writer(KAFKA, overwrite=False)
    record = {"topic": "t", "partition": 1, "offset": 10, "timestamp": datetime(2026, 1, 31, tzinfo=UTC)}
    headers = [{"key": "trace", "value": b"first"}, {"key": "trace", "value": b"last"}]
    good = {**record, "key": b"o-1", "value": b'{"type": "paid"}', "headers": headers}
    its.commit(write(its, [good, {**record, "offset": 11, "key": b"a tombstone", "value": None, "headers": None}]))
    its.commit(write(its, [good]))
    [found] = broker.store.rows(t.MESSAGE, {}, None, 9)
    assert (found.correlation_key, found.message_id) == ("o-1", "t-1:10")
    assert json.loads(found.variables) == {"trace": "last", "at": 10}
    assert letters(broker) == [("t-1", 11, "unreadable")]


def test_store_with_another_number_of_shards_than_the_tasks_knew_takes_nothing(broker: Broker) -> None:
    its = source(broker, position="id", in_order="true").writer(SHAPE, overwrite=False)
    [found] = write(its, paid(1))
    found.shards = 2
    with pytest.raises(StoreFailed, match="number of shards"):
        its.commit([found])
    tasks = source(broker, position="id").writer(SHAPE, overwrite=False)
    tasks._shards = 2
    with pytest.raises(StoreFailed, match="number of shards"):
        write(tasks, paid(1))
    assert not keys(broker)


@pytest.mark.parametrize(
    ("options", "problems"),
    [
        ({"source": ""}, ["source: give what is written a name; what was published is known to the store under it"]),
        ({"position": "nope"}, ["there is no column 'nope'"]),
        ({"position": "name"}, ["position: name is not a column of whole numbers"]),
        (
            {"table": "messages"},
            ["there is no option 'table', but path, url, source, mapping, position, part, in_order"],
        ),
        ({"in_order": "yes"}, ["in_order: 'yes' is neither true nor false"]),
        ({"mapping": '{"nam": "paid"}'}, ["mapping: nam: there is no such field; did you mean name?"]),
        ({"mapping": "{name"}, ["mapping: is not JSON: JSON is malformed: object keys must be strings (byte 1)"]),
        ({"mapping": "/nowhere.yaml"}, ["mapping: /nowhere.yaml: No such file or directory"]),
    ],
)
def test_what_is_wrong_with_the_options_is_said_before_a_row_is_read(
    broker: Broker, options: dict[str, str], problems: list[str]
) -> None:
    with pytest.raises(InputError) as error:
        source(broker, **{"position": "id", **options}).writer(SHAPE, overwrite=False)
    assert error.value.problems == problems


def test_a_write_needs_a_position_and_may_replace_nothing(broker: Broker) -> None:
    with pytest.raises(InputError) as error:
        source(broker).writer(SHAPE, overwrite=True)
    assert error.value.problems == [
        "mode: a message that was published stays published, so a write can only append",
        "position: name the column that tells rows apart and grows, or nothing can be exactly once",
    ]
