"""What changes between two batches of a stream: the policies, the number of buckets, nothing at all."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from conjoin.errors import InputError
from conjoin.kernel.policies import Policies, read_policies
from conjoin.pipeline.streaming.batch_rows import batch_rows_of
from tests.pipeline.streaming.cuttings import Row, frame, frames, stream_of

SECOND = 1_000_000
BEGIN = 1_772_000_000 * SECOND


def policies(**of_all: object) -> Policies:
    book, problems = read_policies("zeebe", {"*": of_all})
    assert problems == []
    return book


def message(number: int, key: str, second: int) -> Row:
    return {"position": number, "name": "Paid", "correlation_key": key, "published_at": BEGIN + second * SECOND}


def take(folder: Path, number: int, book: Policies, messages: list[Row], buckets: int = 5) -> Any:
    stream = stream_of(folder, book, 0, buckets)
    return stream.take(number, frames({"messages": messages, "subscriptions": [], "ends": []}))


def told(folder: Path) -> dict[int, str]:
    rows = pq.read_table(folder / "out" / "verdicts").to_pylist()
    assert len(rows) == len({row["position"] for row in rows})
    return {row["position"]: row["verdict"] for row in rows}


@pytest.mark.parametrize(
    ("first", "then", "expired"), [("1h", "10s", {1, 2}), ("1h", "1h", set()), ("30s", "1h", set())]
)
def test_what_is_held_is_judged_by_the_policies_of_its_batch(
    tmp_path: Path, first: str, then: str, expired: set[int]
) -> None:
    some = [message(number, f"k-{number}", number) for number in (1, 2)]
    report = take(tmp_path, 0, policies(time_to_live=first), [*some, message(3, "k-3", 20)])
    assert (report.held.buffered, report.held.pending) == (2, 1)
    # Nobody writes to the keys of the first two, and by the old policies they may not even be due.
    report = take(tmp_path, 1, policies(time_to_live=then), [message(4, "k-4", 25)])
    assert {number for number, verdict in told(tmp_path).items() if verdict == "expired"} == expired
    assert report.held.buffered == 3 - len(expired)


def test_another_number_of_buckets_is_refused_and_nothing_written(tmp_path: Path) -> None:
    book = policies(time_to_live="1h")
    take(tmp_path, 0, book, [message(1, "a", 1)])
    before = sorted(file.name for file in (tmp_path / "state").rglob("*"))
    with pytest.raises(InputError, match="has 5 buckets, not 6"):
        take(tmp_path, 1, book, [message(2, "a", 2)], buckets=6)
    assert sorted(file.name for file in (tmp_path / "state").rglob("*")) == before


def test_columns_in_another_order_are_refused(tmp_path: Path) -> None:
    """What is held stands in slots by number: one column would be taken for another."""
    book = policies(time_to_live="1h")
    rows = frames({"messages": [message(1, "a", 1)], "subscriptions": [], "ends": []})
    given = rows["messages"]
    both = {order: given.selectExpr("*", *order) for order in (("1 as one", "2 as two"), ("2 as two", "1 as one"))}
    first, other = both.values()
    stream = stream_of(tmp_path, book, 0)
    stream.take(0, rows | {"messages": first})
    with pytest.raises(InputError, match=r"one int, two int; now they are .*two int, one int"):
        stream.take(1, rows | {"messages": other})


def test_a_batch_of_no_rows_is_a_batch(tmp_path: Path) -> None:
    book = policies(time_to_live="10s")
    first = take(tmp_path, 0, book, [])
    assert (first.rows, first.as_of, first.buckets) == (0, None, 0)
    take(tmp_path, 1, book, [message(1, "a", 1), message(2, "b", 3)])
    empty = take(tmp_path, 2, book, [])
    assert (empty.sequence, empty.rows, empty.held.buffered, empty.held.pending) == (2, 0, 1, 1)
    assert take(tmp_path, 2, book, [message(9, "z", 9)]) is None
    stream = stream_of(tmp_path, book, 0)
    nothing = batch_rows_of(frames({"messages": [], "subscriptions": [], "ends": []}), book, 5)
    stream.advance(nothing, BEGIN + 60 * SECOND)
    assert told(tmp_path) == {1: "expired", 2: "expired"}


@pytest.mark.parametrize("together", [True, False])
def test_a_subscription_without_an_id_is_closed_by_its_row_that_comes_again(tmp_path: Path, together: bool) -> None:
    opens = {"process_id": "order", "name": "Paid", "correlation_key": "a", "opened_at": BEGIN}
    closes = opens | {"closed_at": BEGIN + 5 * SECOND}
    stays = opens | {"correlation_key": "b"}
    stream = stream_of(tmp_path, policies(time_to_live="1s"), 0)
    first, then = ([opens, closes, stays], []) if together else ([opens, stays], [closes])
    stream.take(0, frames({"messages": [message(9, "z", 1)], "subscriptions": first, "ends": []}))
    later = [message(1, "a", 10), message(2, "b", 10), message(3, "z", 20)]
    report = stream.take(1, frames({"messages": later, "subscriptions": then, "ends": []}))
    assert report is not None
    assert (told(tmp_path), report.held.open) == ({9: "expired", 1: "expired", 2: "correlated"}, 0)


@pytest.mark.parametrize("arrives", [True, False])
def test_a_start_that_comes_again_with_its_end_is_ended(tmp_path: Path, arrives: bool) -> None:
    """As a row of a stream, or in the table of all that hold."""
    start = {"process_id": "order", "name": "Paid", "from_at": BEGIN}
    ended = start | {"until_at": BEGIN + 5 * SECOND}
    other = {"process_id": "other", "name": "Paid", "from_at": BEGIN}
    stream = stream_of(tmp_path, policies(time_to_live="1s"), 0)
    for number, (starts, messages) in enumerate(
        [([start, other], [message(1, "a", 1), message(2, "b", 10)]), ([ended], [message(3, "c", 20)])]
    ):
        tables = frames({"messages": messages, "subscriptions": [], "ends": []}) | {"starts": frame("starts", starts)}
        if arrives:
            stream.take_rows(number, batch_rows_of(tables, stream.settings.policies, stream.settings.buckets))
        else:
            stream.take(number, tables)
    pairs = pq.read_table(tmp_path / "out" / "correlations").to_pylist()
    # What has arrived stays until it is ended; a table says all there is.
    expected = [(1, "order"), (1, "other"), *([(2, "other")] if arrives else [])]
    assert sorted((row["position"], row["process_id"]) for row in pairs) == expected
    assert stream.last is not None
    assert len(stream.last.starts) == (2 if arrives else 1)
    # Whoever says nothing of starts changes none.
    take(tmp_path, 2, policies(time_to_live="1s"), [])
    last = stream_of(tmp_path, policies(time_to_live="1s"), 0).last
    assert last is not None
    assert last.starts == stream.last.starts


def test_a_start_whose_end_comes_with_it_is_ended(tmp_path: Path) -> None:
    start = {"process_id": "order", "name": "Paid", "from_at": BEGIN}
    tables = frames({"messages": [message(1, "a", 9), message(2, "z", 20)], "subscriptions": [], "ends": []})
    for order in (1, -1):
        both = [start | {"until_at": BEGIN + 5 * SECOND}, start][::order]
        stream = stream_of(tmp_path / str(order), policies(time_to_live="1s"), 0)
        rows = batch_rows_of(tables | {"starts": frame("starts", both)}, stream.settings.policies, 5)
        report = stream.take_rows(0, rows)
        assert report is not None
        assert report.out["correlations"] == 0


def test_results_of_another_state_are_refused(tmp_path: Path) -> None:
    book = policies(time_to_live="1h")
    take(tmp_path, 0, book, [message(1, "a", 1)])
    (tmp_path / "state").rename(tmp_path / "old")
    with pytest.raises(InputError, match="has the results of another state"):
        take(tmp_path, 0, book, [message(1, "a", 1)])
