"""Histories that are alike share an answer: it must be the one that each of them gets when it is walked alone."""

import os
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from conjoin.kernel.policies import Policies, read_policies
from conjoin.pipeline.correlate.alike.patterns import all_compare_only
from conjoin.pipeline.correlate.fold import fold as folding
from conjoin.pipeline.correlate.fold.fold import PartitionFold
from conjoin.pipeline.correlate.fold.outputs import Outputs
from conjoin.pipeline.correlate.fold.packed_batches import unpacked
from conjoin.pipeline.correlate.results import MESSAGE
from conjoin.pipeline.correlate.shape import END, OPEN, PUBLISH, SHAPE, Layout

ARROW = {"tinyint": pa.int8(), "bigint": pa.int64(), "string": pa.string(), "boolean": pa.bool_()}
COLUMNS = {
    "name": "name",
    "correlation_key": "key",
    "published_at": "at",
    "message_id": "id",
    "ttl_ms": "ttl",
    "variables": "variables",
    "tenant_id": "tenant",
    "business_id": "business",
    "position": "position",
}
KEYS = 300
SEEDS = range(min(40, int(os.environ.get("STORIES", "1"))))
STARTS = '[{"process":"p","name":"a","element":"begin"},{"process":"q","name":"b","at":3000,"until":9000}]'

Row = dict[str, Any]


def row(chance: random.Random, key: str, number: int) -> Row:
    kind = chance.choice([PUBLISH, PUBLISH, OPEN, OPEN, END])
    at = 1_000 * chance.randint(1, 8)
    one: Row = {"kind": kind, "key": key or None, "at": at, "tenant": chance.choice([None, None, None, "t", " "])}
    if kind == END:
        return one | {"process": chance.choice("pq")}
    one |= {"name": chance.choice(["a", "a", "b", "A"]), "business": chance.choice([None, None, "", "x", "y"])}
    if kind == OPEN:
        return one | {
            "process": chance.choice("pqr"),
            "id": chance.choice([f"s-{number}", f's"{number}', "s"]),
            "instance": chance.choice([f"i-{number}", "i", None]),
            "element": chance.choice([None, "e", f"e{number}", "\t"]),
            "interrupting": chance.choice([None, True, False]),
            "until": chance.choice([None, None, at, at + 2_000, 1_000 * chance.randint(1, 12)]),
        }
    return one | {
        "id": chance.choice([None, "", "m", "n", f"m-{number}"]),
        "ttl": chance.choice([None, 0, -1, 1, 3, 5, 10**15, 2**63 - 1]),
        "variables": chance.choice([None, "{}", '{"v":1}', '{"v":1}', "[]"]),
        "position": number,
    }


def batch(seed: int) -> pa.RecordBatch:
    chance = random.Random(seed)
    rows: list[Row] = []
    for key in range(KEYS):
        text = chance.choice(["", f"k-{key}", f'k"{key}']) if key == 0 else f"k-{key}"
        history = [
            row(chance, text, len(rows) + number) for number in range(chance.choice([1, 1, 2, 2, 2, 3, 4, 6, 9]))
        ]
        rows += sorted(history, key=lambda one: (one["at"], one["kind"], one.get("position") or 0))
    columns = {slot: pa.array([one.get(slot) for one in rows], ARROW[kind]) for slot, kind in SHAPE}
    control = f'{{"as_of": {chance.choice([8_000, 10_000, 20_000])}, "starts": {chance.choice(["[]", STARTS])}}}'
    columns["control"] = pa.array([control] + [None] * (len(rows) - 1), pa.string())
    return pa.RecordBatch.from_pydict(columns)


def outcome(seed: int, policies: Policies, shares: bool) -> tuple[Counter[str], PartitionFold]:
    whole = batch(seed)
    fold = PartitionFold(policies, None, Outputs(Layout(tuple(COLUMNS), COLUMNS, prior=False)), shares_answers=shares)
    middle = whole.num_rows // 2
    halves = [whole.slice(0, middle), whole.slice(middle)]
    out: Counter[str] = Counter()
    for packed in fold.take(iter(halves)):
        table = packed.column("table")[0].as_py()
        out.update(f"{table} {one}" for some in unpacked([packed]) for one in some.to_pylist())
    return out, fold


@pytest.fixture(autouse=True)
def ask_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "OFTEN", 1)
    monkeypatch.setattr(folding, "BATCH_ROWS", 400)


@pytest.mark.parametrize("profile", ["zeebe", "zeebe-0.2x", "correlate", "fleans"])
@pytest.mark.parametrize("seed", SEEDS)
def test_shared_answers_are_those_of_each_history_alone(seed: int, profile: str) -> None:
    policies, problems = read_policies(profile, {"b": {"time_to_live": "4ms"}} if seed % 2 else {})
    assert problems == []
    shared, fold = outcome(seed, policies, shares=True)
    alone, _ = outcome(seed, policies, shares=False)
    assert shared == alone
    assert sum(one.startswith(f"{MESSAGE} ") for one in shared) > KEYS / 2
    if all_compare_only(policies):
        assert len(fold.answers) > 50


def test_policies_that_look_at_more_than_a_pattern_tells_share_nothing() -> None:
    for changes in ({"cardinality": "once_per_instance"}, {"dedup": "1h"}, {"constraint": lambda m, s: True}):
        policies, problems = read_policies("zeebe", {"*": changes})
        assert problems == []
        assert not all_compare_only(policies)
    assert all_compare_only(Policies())
