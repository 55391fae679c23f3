"""Many histories in one Spark job: each in its own space of names, processes, tenants' keys and positions.

All are moved in time so that their instants of judgement fall together, because a job has only one `as_of`.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from conjoin.kernel.policies import Policies, Policy, read_policies
from tests.oracle.facts import Outcome, instant_of_judgement
from tests.oracle.history import History, Row, generate

AS_OF = 1_800_000_000_000_000
POSITIONS = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SCHEMAS = {
    "messages": (
        "name string, correlation_key string, published_at timestamp, message_id string, ttl_ms long, "
        "tenant_id string, business_id string, position long"
    ),
    "subscriptions": (
        "process_id string, name string, correlation_key string, opened_at timestamp, closed_at timestamp, "
        "subscription_id string, instance_id string, element_id string, interrupting boolean, tenant_id string, "
        "business_id string"
    ),
    "starts": (
        "process_id string, name string, tenant_id string, element_id string, from_at timestamp, until_at timestamp"
    ),
    "ends": "process_id string, correlation_key string, ended_at timestamp, tenant_id string",
}


def instant(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=us)


def micros(moment: datetime) -> int:
    since = moment.replace(tzinfo=UTC) - _EPOCH if moment.tzinfo is None else moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def moved(history: History, number: int) -> History:
    """The same history in a space of its own."""
    shift = AS_OF - instant_of_judgement(history)
    tables = {name: [_moved(row, number, shift) for row in getattr(history, name)] for name in SCHEMAS}
    policies = {name if name == "*" else f"{number}:{name}": row for name, row in history.policies.items()}
    return replace(history, **tables, policies=policies, as_of=AS_OF)


def _moved(row: Row, number: int, shift: int) -> Row:
    changed = dict(row)
    for name, value in row.items():
        if value is None:
            continue
        if name.endswith("_at"):
            changed[name] = value + shift
        elif name in ("name", "process_id", "subscription_id", "instance_id"):
            changed[name] = f"{number}:{value}"
        elif name == "position":
            changed[name] = number * POSITIONS + value
    return changed


@dataclass
class Many:
    """Histories `first` to `first + count`, as tables and as outcomes."""

    seed: int
    count: int
    histories: list[History] = field(init=False)

    def __post_init__(self) -> None:
        self.histories = [moved(generate(self.seed + n, f"{n}/"), n) for n in range(self.count)]

    def rows(self, table: str) -> list[Row]:
        return [row for history in self.histories for row in getattr(history, table)]

    def policies(self) -> Policies:
        by_name: dict[str, Policy] = {}
        for number, history in enumerate(self.histories):
            book, problems = read_policies(history.profile, history.policies)
            assert problems == []
            for name in {row["name"] for row in history.messages + history.subscriptions + history.starts}:
                assert name.startswith(f"{number}:")
                by_name[name] = book.of(name)
        return Policies(by_name=by_name)

    def frames(self, spark: SparkSession) -> dict[str, DataFrame]:
        return {table: frame_of(spark, table, self.rows(table)) for table in SCHEMAS}


def frame_of(spark: SparkSession, table: str, rows: list[Row]) -> DataFrame:
    columns = [column.split()[0] for column in SCHEMAS[table].split(", ")]
    data = [tuple(_cell(name, row.get(name)) for name in columns) for row in rows]
    return spark.createDataFrame(data, SCHEMAS[table])


def _cell(name: str, value: Any) -> Any:
    return instant(value) if name.endswith("_at") and value is not None else value


def merged(outcomes: list[Outcome]) -> Outcome:
    """One outcome of all: the spaces do not meet."""
    whole = Outcome()
    for outcome in outcomes:
        whole.verdicts |= outcome.verdicts
        whole.decided_at |= outcome.decided_at
        whole.pairs |= outcome.pairs
        whole.buffered |= outcome.buffered
        whole.open |= outcome.open
        whole.locks |= outcome.locks
        whole.ids |= outcome.ids
        whole.ends_ignored += outcome.ends_ignored
        whole.refused_subscriptions |= outcome.refused_subscriptions
    return whole
