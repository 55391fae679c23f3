"""A row as a JSON object, as it came: the same for many rows at once as for each by itself."""

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from conjoin.pipeline.correlate.row_texts import row_texts
from conjoin.pipeline.correlate.shape import INTERRUPTING_GIVEN, NOT_INTERRUPTING, OPEN, PUBLISH, Layout

NONE = Layout((), {}, prior=False)
WHOLE_SECOND, MICROSECOND = 1_767_225_600_000_000, 1_767_225_600_000_001


def told(columns: dict[str, pa.Array], table: str, layout: Layout = NONE) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    together = row_texts(batch, np.arange(batch.num_rows), table, layout).to_pylist()
    alone = [row_texts(batch, np.array([row]), table, layout)[0].as_py() for row in range(batch.num_rows)]
    assert together == alone
    return [json.loads(text) for text in together]


def test_a_subscription_has_its_own_names_and_no_nulls() -> None:
    columns = {
        "kind": pa.array([OPEN, OPEN | INTERRUPTING_GIVEN, OPEN | INTERRUPTING_GIVEN | NOT_INTERRUPTING], pa.int8()),
        "at": pa.array([WHOLE_SECOND, MICROSECOND, 2**62]),
        "until": pa.array([None, WHOLE_SECOND, -(2**62)]),
        "key": pa.array(["order-1", 'a "quoted" one', "ü\\\n"]),
        "process": pa.array(["shop", None, "shop"]),
    }
    assert told(columns, "subscriptions") == [
        {"process_id": "shop", "correlation_key": "order-1", "opened_at": "2026-01-01T00:00:00Z"},
        {
            "correlation_key": 'a "quoted" one',
            "opened_at": "2026-01-01T00:00:00.000001Z",
            "closed_at": "2026-01-01T00:00:00Z",
            "interrupting": True,
        },
        {
            "process_id": "shop",
            "correlation_key": "ü\\\n",
            "opened_at": "never",
            "closed_at": "always",
            "interrupting": False,
        },
    ]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.array([1.5, None]), [1.5, None]),
        (pa.array([True, None]), [True, None]),
        (pa.array([2**40, None]), [2**40, None]),
        (pa.array([["a", None], None]), [["a", None], None]),
        (pa.array([{"a": 1}, None]), [{"a": 1}, None]),
        (pa.array([datetime(2026, 1, 1, tzinfo=UTC), None]), ["2026-01-01T00:00:00Z", None]),
        (pa.array([2**62, None]).cast(pa.timestamp("us")), [str(2**62), None]),
        (pa.array([b"caf\xc3\xa9 \xff", None]).view(pa.string()), ["café \ufffd", None]),
    ],
    ids=str,
)
def test_a_column_that_travels_along_is_told_by_its_own_name(column: pa.Array, values: list[Any]) -> None:
    """Also where its name looks like one of ours for an instant: a number in it is not taken for one."""
    layout = Layout(("name", 'sent "so"_at'), {"name": "name", 'sent "so"_at': "m_1"}, prior=False)
    rows = {"kind": pa.array([PUBLISH] * 2, pa.int8()), "name": pa.array(["a", "b"]), "m_1": column}
    assert told(rows, "messages", layout) == [{"name": "a", 'sent "so"_at': values[0]}, {"name": "b"}]


def test_a_row_of_nothing_is_an_empty_object() -> None:
    assert told({"kind": pa.array([PUBLISH], pa.int8())}, "messages") == [{}]
