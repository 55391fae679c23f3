"""Mistakes planted in tables: a file of messages and one of who waits, correlated in this process, without Spark."""

import json
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from benchmarks.explain.keys import SLIPS, fresh_keys, slipped
from benchmarks.explain.models import OPENED, PAID
from benchmarks.explain.tally import NOTHING, Judged
from conjoin import sentence
from conjoin.cli.main import run

ACME = "acme"
_BEGIN = datetime(2026, 2, 2, tzinfo=UTC)
_START = "ticket"


class Tables:
    """Rows of messages and of who waits, and what is true of some of the messages, by their position."""

    def __init__(self, kind: str, crowd: int, rng: random.Random) -> None:
        self.kind, self.rng = kind, rng
        self.keys = fresh_keys(kind, rng)
        self.messages: list[dict[str, Any]] = []
        self.waiting: list[dict[str, Any]] = []
        self.truths: dict[int, Truth] = {}
        self._at = _BEGIN
        for _ in range(crowd):
            self.waits(next(self.keys))

    def at(self, later_s: int = 0) -> str:
        return (self._at + timedelta(seconds=later_s)).isoformat()

    def go_on(self) -> None:
        self._at += timedelta(minutes=10)

    def waits(self, key: str, opened_s: int = 0, closed_s: int | None = None, **more: Any) -> str:
        instance = f"i-{len(self.waiting)}"
        times = {"opened_at": self.at(opened_s), "closed_at": None if closed_s is None else self.at(closed_s)}
        who = {"process_id": "order", "name": PAID, "correlation_key": key, "tenant_id": None}
        ids = {"subscription_id": f"s-{len(self.waiting)}", "instance_id": instance, "element_id": "paid"}
        self.waiting.append({**who, **times, **ids, **more})
        return instance

    def send(self, key: str, name: str = PAID, later_s: int = 1, ttl_ms: int = 0, message_id: str = "") -> int:
        position = len(self.messages)
        what = {"position": position, "name": name, "correlation_key": key, "message_id": message_id}
        self.messages.append({**what, "published_at": self.at(later_s), "ttl_ms": ttl_ms, "tenant_id": None})
        return position


class Truth(NamedTuple):
    """`kind` of the near miss that is the cause, of this instance; or the reason that says it all."""

    slip: str
    kind: str = ""
    instance: str = ""
    reason: str = ""


def _key(slip: str) -> "Plant":
    def plant(tables: Tables, key: str) -> tuple[int, Truth]:
        instance = tables.waits(key)
        return tables.send(slipped(tables.kind, slip, key, tables.rng)), Truth("", "other_key", instance)

    return plant


def _name(wrong: Callable[[random.Random], str]) -> "Plant":
    def plant(tables: Tables, key: str) -> tuple[int, Truth]:
        instance = tables.waits(key)
        return tables.send(key, wrong(tables.rng)), Truth("", "other_name", instance)

    return plant


def _too_early(tables: Tables, key: str) -> tuple[int, Truth]:
    instance = tables.waits(key, opened_s=90)
    return tables.send(key), Truth("", "expired_before", instance)


def _expired(tables: Tables, key: str) -> tuple[int, Truth]:
    instance = tables.waits(key, opened_s=90)
    return tables.send(key, ttl_ms=30_000), Truth("", "expired_before", instance)


def _taken(tables: Tables, key: str) -> tuple[int, Truth]:
    instance = tables.waits(key)
    tables.send(key)
    return tables.send(key, later_s=60), Truth("", "closed_before", instance)


def _closed(tables: Tables, key: str) -> tuple[int, Truth]:
    instance = tables.waits(key, closed_s=30)
    return tables.send(key, later_s=60), Truth("", "closed_before", instance)


def _duplicate(tables: Tables, key: str) -> tuple[int, Truth]:
    tables.send(key, ttl_ms=3_600_000, message_id="m")
    return tables.send(key, later_s=2, ttl_ms=3_600_000, message_id="m"), Truth("", reason="duplicate_id")


def _locked(tables: Tables, key: str) -> tuple[int, Truth]:
    tables.send(key, OPENED)
    return tables.send(key, OPENED, 2, 864_000_000), Truth("", "lock_held")


def _elsewhere(tables: Tables, key: str) -> tuple[int, Truth]:
    instance = tables.waits(key, tenant_id=ACME)
    return tables.send(key), Truth("", "other_tenant", instance)


Plant = Callable[[Tables, str], tuple[int, Truth]]
PLANTS: dict[str, Plant] = {
    "name: case or blanks": _name(lambda rng: rng.choice((PAID.upper(), PAID.replace(" ", "  ")))),
    "name: typo": _name(lambda rng: PAID.replace("ment", "mnet")),
    "name: another": _name(lambda rng: "Payment booked"),
    "wrong tenant": _elsewhere,
    "too early: it has come since": _too_early,
    "too early: time to live too short": _expired,
    "too late: taken": _taken,
    "too late: cancelled": _closed,
    "duplicate id": _duplicate,
    "locked": _locked,
}


def judged(kinds: tuple[str, ...], crowds: tuple[int, ...], each: int, rng: random.Random) -> Iterator[Judged]:
    for kind in kinds:
        for crowd in crowds:
            tables = Tables(kind, crowd, rng)
            plants = {f"key: {slip}": _key(slip) for slip in SLIPS[kind]} | PLANTS
            for slip in [*plants, *[NOTHING] * 5] * each:
                tables.go_on()
                key = next(tables.keys)
                position, truth = plants[slip](tables, key) if slip in plants else (tables.send(key), Truth(slip))
                tables.truths[position] = truth._replace(slip=slip)
            for position, row in _correlated(tables).items():
                if position in tables.truths:
                    yield _judged(tables, crowd, tables.truths[position], row)


def _judged(tables: Tables, crowd: int, truth: Truth, row: dict[str, Any]) -> Judged:
    misses = json.loads(row["detail"]).get("near_misses", [])
    first = misses[0] if misses else {}
    if truth.slip == NOTHING:
        right = not misses
    elif truth.reason:
        right = row["reason"] == truth.reason
    else:
        right = first.get("kind") == truth.kind and truth.instance in ("", first.get("instance"))
    told = "" if right else f"{truth} {sentence(row)}"
    return Judged("tables", tables.kind, truth.slip, crowd, right, told)


def _correlated(tables: Tables) -> dict[int, dict[str, Any]]:
    """What is said of each message: the row of its near misses, else its verdict."""
    with tempfile.TemporaryDirectory() as folder:
        starts = [{"process_id": _START, "name": OPENED}]
        for name, rows in (("messages", tables.messages), ("waiting", tables.waiting), ("starts", starts)):
            Path(folder, f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        files = ["--messages", f"{folder}/messages.jsonl", "--subscriptions", f"{folder}/waiting.jsonl"]
        files += ["--starts", f"{folder}/starts.jsonl", "--out", f"{folder}/out", "--engine", "local"]
        with redirect_stdout(StringIO()):
            code = run(["spark", "correlate", *files])
        assert code == 0, code
        found: dict[int, dict[str, Any]] = {}
        for table in ("verdicts", "near_misses"):
            found |= {row["position"]: row for row in pq.read_table(f"{folder}/out/{table}").to_pylist()}
        return found
