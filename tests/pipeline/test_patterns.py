"""Histories that are alike share an answer: it must be the one that each of them gets when it is walked alone."""

import os
import random
from collections import Counter
from itertools import product
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from conjoin.kernel.instants import ALWAYS
from conjoin.kernel.policies import Policies, read_policies
from conjoin.pipeline.correlate.alike import learnt, patterns
from conjoin.pipeline.correlate.fold import fold as folding
from conjoin.pipeline.correlate.fold.counts import PartitionCounts, merged
from conjoin.pipeline.correlate.fold.fold import FoldPlan, PartitionFold
from conjoin.pipeline.correlate.fold.packed_batches import COUNTS, PackedSink, unpacked
from conjoin.pipeline.correlate.fold.taken import TakenMessages
from conjoin.pipeline.correlate.results import VERDICTS
from conjoin.pipeline.correlate.shape import (
    END,
    ID,
    INTERRUPTING_GIVEN,
    KIND,
    LOCK,
    NOT_INTERRUPTING,
    OPEN,
    PRIOR_SLOTS,
    PUBLISH,
    SHAPE,
    Layout,
)

ARROW = {
    "tinyint": pa.int8(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
COLUMNS = {
    "name": "name",
    "correlation_key": "key",
    "published_at": "at",
    "message_id": "id",
    "ttl_ms": "until",
    "variables": "variables",
    "tenant_id": "tenant",
    "business_id": "business",
    "position": "position",
}
KEYS = 300
STORIES = int(os.environ.get("STORIES", "1"))
PROFILES = ["zeebe", "zeebe-0.2x", "correlate", "fleans"]
STARTS: list[list[dict[str, Any]]] = [
    [],
    [
        {"process": "p", "name": "a", "element": "begin"},
        {"process": "q", "name": "b", "at": 3_000, "until": 9_000},
        {"process": "q", "name": "b", "at": 9_000, "element": "again"},
    ],
    [{"process": "p", "name": "a", "element": f"v{n}", "at": 200 * n, "until": 200 * (n + 1)} for n in range(40)],
    [
        {"process": process, "name": name, "element": element, "at": 1_000 * begin, "until": 1_000 * (begin + length)}
        for begin in range(12)
        for process, name, element, length in (
            ("p", "a", f"v{begin % 3}", 1),
            ("p", "b", f"v{begin % 3}" if begin % 2 else None, 2),
            ("q", "a", f'v"{begin}' if begin % 4 == 0 else f"w{begin}", 3),
        )
    ]
    + [{"process": "r", "name": "a", "element": "always"}],
    [{"process": "p", "name": "a", "element": "e", "until": 3_000}]
    + [
        {"process": "p", "name": "a", "element": "e", "at": 1_000 * n, "until": 1_000 * n + 1_000} for n in range(3, 30)
    ],
]
PRIOR = {
    "prior_verdict": "buffered",
    "prior_reason": "nobody_waits",
    "prior_detail": "{}",
    "prior_decided_at": 1_000,
    "prior_correlated_to": "[]",
}

Row = dict[str, Any]


def row(chance: random.Random, key: str, number: int, since: int | None) -> Row:
    kind = chance.choice([PUBLISH, PUBLISH, OPEN, OPEN, END] + ([LOCK, ID, OPEN, PUBLISH] if since else []))
    at = 1_000 * chance.randint(1, 8)
    one: Row = {"kind": kind, "key": key or None, "at": at, "tenant": chance.choice([None, None, None, "t", " "])}
    if kind == LOCK:
        locked = {"at": ALWAYS, "process": chance.choice("pq"), "instance": f"l-{number}"}
        return one | locked | {"until": chance.choice([None, 500, 1_500])}
    if kind == END:
        return one | {"process": chance.choice("pq")}
    one |= {"name": chance.choice(["a", "a", "b", "A"])}
    if kind == ID:
        remembered = {"until": chance.choice([3_000, 6_000, 253_402_300_799_999_999]), "kept": 1_000}
        return one | {"at": ALWAYS, "id": chance.choice("mn")} | remembered
    one |= {"business": chance.choice([None, None, "", "x", "y"])}
    kept = since is not None and chance.random() < 0.5
    one |= {"kept": at if kept else None}
    if kind == OPEN:
        flags = chance.choice([0, INTERRUPTING_GIVEN, INTERRUPTING_GIVEN | NOT_INTERRUPTING])
        return one | {
            "kind": kind | flags,
            "process": chance.choice("pqr"),
            "id": chance.choice([f"s-{number}", f's"{number}', "s"]),
            "instance": chance.choice([f"i-{number}", "i", None]),
            "element": chance.choice([None, "e", f"e{number}", "\t"]),
            "until": chance.choice([None, None, at, at + 2_000, 1_000 * chance.randint(1, 12)]),
        }
    if kept:
        taken = chance.choice(["[]", "[]", '["p"]', '["q"]', '["r","p"]', '["*"]'])
        one |= PRIOR | {"taken_by": taken, "prior_correlated_to": "[]" if taken == "[]" else '["i-1"]'}
    return one | {
        "id": chance.choice([None, "", "m", "n", f"m-{number}"]),
        "until": chance.choice([None, 0, -1, 1, 3, 5, 10**15, 2**63 - 1, -(2**63)]),
        "variables": chance.choice([None, "{}", '{"v":1}', '{"v":1}', "[]", '{"a":1}\n{"b":2}', "{}{}"]),
        "position": number,
    }


def batch(chance: random.Random, since: int | None) -> pa.RecordBatch:
    rows: list[Row] = []
    for key in range(KEYS):
        text = chance.choice(["", f"k-{key}", f'k"{key}']) if key == 0 else f"k-{key}"
        count = chance.choice([1, 1, 2, 2, 2, 3, 4, 6, 9, 14])
        history = [row(chance, text, len(rows) + number, since) for number in range(count)]
        rows += sorted(history, key=lambda one: (one["at"], one["kind"] & KIND, one.get("position") or 0))
    slots = [*SHAPE, *(PRIOR_SLOTS if since else ())]
    return pa.RecordBatch.from_pydict(
        {slot: pa.array([one.get(slot) for one in rows], ARROW[kind]) for slot, kind in slots}
    )


def outcome(
    seed: int, policies: Policies, shares: bool, run: str | None = None
) -> tuple[Counter[str], PartitionCounts, PartitionFold]:
    chance = random.Random(seed)
    since = chance.choice([None, 4_000])
    plan = FoldPlan(
        Layout(tuple(COLUMNS), COLUMNS, prior=since is not None),
        policies,
        as_of=chance.choice([8_000, 10_000, 20_000]),
        since=since,
        starts=chance.choice(STARTS),
    )
    whole = batch(chance, since)
    fold = PartitionFold(plan, PackedSink(), shares_answers=shares, run=run)
    middle = whole.num_rows // 2
    out: Counter[str] = Counter()
    for packed in fold.take(iter([whole.slice(0, middle), whole.slice(middle)])):
        table = packed.column("table")[0].as_py()
        if table == COUNTS:
            counts = msgspec.json.decode(packed.column("rows")[0].as_py(), type=PartitionCounts)
        else:
            out.update(f"{table} {one}" for some in unpacked([packed]) for one in some.to_pylist())
    return out, counts, fold


@pytest.fixture(autouse=True)
def ask_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learnt, "OFTEN", 1)
    monkeypatch.setattr(patterns, "FEW_ROWS", 1)
    monkeypatch.setattr(folding, "BATCH_ROWS", 400)


CHANGES: list[dict[str, dict[str, Any]]] = [
    {},
    {"b": {"time_to_live": "4ms"}},
    {"a": {"dedup": "3ms"}},
    {"*": {"cardinality": "once_per_instance"}, "b": {"cardinality": "all"}},
    {"A": {"constraint": lambda message, subscription: message.published_at > 3_000}, "a": {"dedup": "3650000d"}},
]


def _rounds() -> list[tuple[int, dict[str, dict[str, Any]], str]]:
    """By default each change under one profile, in turn; with `STORIES` each under all of them, so often."""
    if STORIES < 2:
        return [(number, changes, PROFILES[number % len(PROFILES)]) for number, changes in enumerate(CHANGES * 2)]
    return list(product(range(min(40, STORIES)), CHANGES, PROFILES))


@pytest.mark.parametrize(("seed", "changes", "profile"), _rounds())
def test_shared_answers_are_those_of_each_history_alone(
    seed: int, changes: dict[str, dict[str, Any]], profile: str
) -> None:
    policies, problems = read_policies(profile, changes)
    assert problems == []
    shared, counted, fold = outcome(seed, policies, shares=True)
    alone, plainly, _ = outcome(seed, policies, shares=False)
    assert shared - alone == Counter()
    assert alone - shared == Counter()
    assert sum(one.startswith(f"{VERDICTS} ") for one in shared) > KEYS / 2
    assert sum(answer is not None for answer in fold.learnt.answers.values()) > 10
    assert counted.shared_rows > 20
    counted.shared_rows = 0
    assert merged([counted]) == merged([plainly])


@pytest.mark.parametrize(("seed", "changes", "profile"), _rounds())
def test_what_is_said_of_many_at_once_is_what_is_said_of_each(
    seed: int, changes: dict[str, dict[str, Any]], profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies, _ = read_policies(profile, changes)
    together, counted, _ = outcome(seed, policies, shares=False)
    monkeypatch.setattr(TakenMessages, "take", lambda taken, message: False)
    one_by_one, plainly, _ = outcome(seed, policies, shares=False)
    assert together - one_by_one == Counter()
    assert one_by_one - together == Counter()
    assert merged([counted]) == merged([plainly])


def test_a_worker_answers_the_next_partition_of_a_run_by_what_it_has_learnt() -> None:
    policies, _ = read_policies("zeebe", {})
    alone, _, _ = outcome(7, policies, shares=True)
    first, _, fold = outcome(7, policies, shares=True, run="the run")
    asked = dict(fold.learnt.answers)
    again, _, other = outcome(7, policies, shares=True, run="the run")
    assert alone == first == again
    assert asked
    assert other.learnt is fold.learnt
    assert other.learnt.answers == asked
    _, _, another = outcome(7, policies, shares=True, run="another run")
    assert another.learnt is not fold.learnt


def ordinary_day(rows_a_key: int, kept: bool, begin: int) -> pa.RecordBatch:
    """Orders that wait for messages of their own, one after the other, spread over an hour."""
    chance, rows = random.Random(rows_a_key), []
    for order in range(1_500):
        at = begin + 1_000_000 * chance.randint(1, 3_000)
        for step in range(rows_a_key // 2):
            at += 1_000_000
            number = len(rows)
            opened: Row = {"kind": OPEN, "at": at, "process": "p", "id": f"s-{number}", "instance": f"i-{order}"}
            sent: Row = {"kind": PUBLISH, "at": at + 500_000, "id": f"m-{number}", "position": number, "until": 60_000}
            if kept and step == 0:
                sent |= PRIOR | {"kept": begin, "taken_by": '["q"]', "prior_correlated_to": f'["j-{order}"]'}
            rows += [one | {"key": f"k-{order}", "name": f"step {step}"} for one in (opened, sent)]
    slots = [*SHAPE, *(PRIOR_SLOTS if kept else ())]
    return pa.RecordBatch.from_pydict(
        {slot: pa.array([one.get(slot) for one in rows], ARROW[kind]) for slot, kind in slots}
    )


MINUTES = [60_000_000 * minute for minute in range(61)]
VERSIONS = [
    {"process": "started", "name": "step 0", "element": f"v{minute}", "at": minute, "until": minute + 60_000_000}
    for minute in MINUTES
]


@pytest.mark.parametrize(
    ("rows_a_key", "kept", "policy", "starts"),
    [
        pytest.param(2, False, {}, [], id="two rows a key"),
        pytest.param(10, False, {}, [], id="ten rows a key"),
        pytest.param(2, True, {}, [], id="kept, and taken by somebody"),
        pytest.param(2, False, {"dedup": "1h"}, [], id="a dedup duration"),
        pytest.param(2, False, {"cardinality": "once_per_instance"}, [], id="once per instance"),
        pytest.param(2, False, {}, VERSIONS, id="sixty start versions"),
        pytest.param(4, True, {"dedup": "1h"}, VERSIONS, id="all of it"),
    ],
)
def test_an_ordinary_day_is_answered_together(
    rows_a_key: int, kept: bool, policy: dict[str, Any], starts: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learnt, "OFTEN", 8)
    monkeypatch.setattr(patterns, "FEW_ROWS", 32)
    monkeypatch.setattr(folding, "BATCH_ROWS", 50_000)
    policies, _ = read_policies("zeebe", {"*": policy} if policy else {})
    begin = 1_700_000_000_000_000
    moved = [start | {"at": begin + start["at"], "until": begin + start["until"]} for start in starts]
    since = begin if kept else None
    plan = FoldPlan(Layout(tuple(COLUMNS), COLUMNS, kept), policies, begin + 7_200_000_000, since, moved)
    day = ordinary_day(rows_a_key, kept, begin)
    fold = PartitionFold(plan, PackedSink())
    [counts] = [
        msgspec.json.decode(packed.column("rows")[0].as_py(), type=PartitionCounts)
        for packed in fold.take(iter([day]))
        if packed.column("table")[0].as_py() == COUNTS
    ]
    assert counts.shared_rows / day.num_rows > 0.95
