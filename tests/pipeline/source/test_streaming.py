"""A task streams: what it holds does not grow with the table, and what it gives is one instant of the shard."""

import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conjoin.pipeline.source import reader as reading
from conjoin.pipeline.source.reader import MOST_ROWS, ConjoinReader
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_bytes
from conjoin.runtime.codec.orders import written_order
from conjoin.runtime.run.log import block_of
from conjoin.store import create_store, open_store
from conjoin.store import tables as t
from conjoin.store.port import Facts, Head
from conjoin.store.rows import DeadLetterRow, LogRow
from tests.pipeline.source.stories import asking, read
from tests.store.samples import commit, message

MANY = 50_000
MB = 1_000_000
FACTS = Facts(1, "zeebe", 0, unique_business_ids=False)


def a_message(key: int, variables: str = "{}") -> Any:
    return message(key, record="[0]", verdict="buffered", reason="nobody_waits", variables=variables)


def filled(folder: Path, rows: dict[Any, Any]) -> Path:
    with closing(create_store(folder / "store", FACTS)) as store:
        store.shard(0).load(Head(1, MANY, 1, 0), rows)
    return folder / "store"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With fifteen megabytes of variables."""
    text = f'{{"text":"{"x" * 290}"}}'
    return filled(tmp_path_factory.mktemp("large"), {t.MESSAGE: (a_message(key, text) for key in range(MANY))})


def test_many_rows_come_in_batches_and_none_of_them_stays(large: Path) -> None:
    its = ConjoinReader(asking(str(large), "messages", columns="key,name,published_at,variables"))
    [part] = its.partitions()
    # The first batch also loads what others need not.
    next(its.read(part))
    sizes, allocated, before = [], 0, pa.total_allocated_bytes()
    tracemalloc.start()
    for batch in its.read(part):
        sizes.append(batch.num_rows)
        allocated = max(allocated, pa.total_allocated_bytes() - before)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sizes == [MOST_ROWS] * (MANY // MOST_ROWS)
    assert held < 12 * MB, f"{held / MB:.0f} MB of rows"
    assert allocated < 8 * MB, f"{allocated / MB:.0f} MB of batches"


def test_a_batch_of_large_values_ends_before_it_has_all_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 100_000)
    sizes = [10, 10, 40_000, 70_000, 10, 250_000, 10]
    rows = [a_message(key, " " * size) for key, size in enumerate(sizes)]
    its = ConjoinReader(asking(str(filled(tmp_path, {t.MESSAGE: rows})), "messages", columns="key,variables"))
    [part] = its.partitions()
    assert [batch["key"].to_pylist() for batch in its.read(part)] == [[0, 1, 2, 3], [4, 5], [6]]


def test_a_commit_with_more_events_than_a_batch_holds_is_split(tmp_path: Path) -> None:
    count = 2 * MOST_ROWS + 5_000
    entry = (written_order(NewMessage("paid", "o-1")), 7, 1, [("MessagePublished", key, 7) for key in range(count)])
    rows = [LogRow(version, 0, 7, block_of([json_bytes(entry)])) for version in (1, 2)]
    its = ConjoinReader(asking(str(filled(tmp_path, {t.LOG: rows})), "events", columns="version,number,message_key"))
    [part] = its.partitions()
    batches = [batch.to_pylist() for batch in its.read(part)]
    assert [len(batch) for batch in batches] == [MOST_ROWS] * 5
    told = [(row["version"], row["number"], row["message_key"]) for batch in batches for row in batch]
    assert told == [(version, key + 1, key) for version in (1, 2) for key in range(count)]


def test_what_is_committed_while_a_shard_is_read_is_not_seen(large: Path) -> None:
    its = ConjoinReader(asking(str(large), "messages", columns="key,verdict"))
    [part] = its.partitions()
    batches = its.read(part)
    first = next(batches)
    with closing(open_store(large)) as store:
        commit(store.shard(0), {t.MESSAGE: [a_message(MANY), a_message(MANY - 1)._replace(verdict="expired")]})
    verdicts = [batch["verdict"].to_pylist() for batch in (first, *batches)]
    assert sum(map(len, verdicts)) == MANY
    assert {verdict for batch in verdicts for verdict in batch} == {"buffered"}


def test_dead_letters_are_read_with_what_stood_there(tmp_path: Path) -> None:
    letter = DeadLetterRow(7, "orders", "a.jsonl", 3, "unreadable", "why", b"{\xff", 5)
    (found,) = read(asking(str(filled(tmp_path, {t.DEAD_LETTER: [letter]})), "dead_letters"))
    assert {name: found[name] for name in ("key", "source", "part", "position", "reason", "text", "row")} == {
        "key": 7, "source": "orders", "part": "a.jsonl", "position": 3, "reason": "unreadable", "text": "why",
        "row": "{\ufffd",
    }  # fmt: skip
