"""The statements that both databases share, and the reads of a snapshot made of them.

`{texts}` and `{numbers}` are a table `many` of the values of one parameter: a bulk read is one statement, whatever its
size. It stands first in a cross join, so that each value is looked up and the large table is never walked.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conjoin.store import tables as t
from conjoin.store.inbox_sql import INBOX_QUERIES, INBOX_READS, InboxReads
from conjoin.store.port import BY_KEY, Before, IdHolder, KeyRows, Meets, Order
from conjoin.store.rows import InstanceRow, JobRow, MessageRow, OutboxRow, TimerRow
from conjoin.store.tables import Table

_ON_KEYS = "t.correlation_key = many.value and t.tenant_id = {p}"
_READS: dict[str, tuple[Table, str]] = {
    "subscriptions": (t.SUBSCRIPTION, f"from {{texts}} cross join subscription as t where {_ON_KEYS}"),
    "messages": (
        t.MESSAGE,
        # So many of each key and no more: one key may have a million.
        "from {texts} cross join message as t where t.key in (select m.key from message as m"
        " where m.correlation_key = many.value and m.tenant_id = {p} and m.live = 1 order by m.key limit {p})"
        " order by t.key",
    ),
    "live_messages": (
        t.MESSAGE,
        "from message as t where t.correlation_key = {p} and t.tenant_id = {p} and t.live = 1 and t.name = {p}"
        " and t.key > {p} order by t.key limit {p}",
    ),
    "held_messages": (
        t.MESSAGE,
        # By their reason, of which there are few; by the key there may be a million, so its index is made useless.
        "from message as t where t.reason = 'busy' and t.verdict <> 'correlated' and t.live = 1"
        " and t.correlation_key || '' = {p} and t.tenant_id = {p} order by t.key",
    ),
    "messages_with_id": (
        t.MESSAGE,
        "from message as t where t.correlation_key = {p} and t.tenant_id = {p} and t.live = 1 and t.name = {p}"
        " and t.message_id = {p} and t.message_id <> '' order by t.key",
    ),
    "messages_with_business_id": (
        t.MESSAGE,
        "from message as t where t.business_id = {p} and t.business_id <> '' and t.tenant_id = {p} and t.live = 1"
        " and t.key > {p} order by t.key limit {p}",
    ),
    "messages_by_key": (t.MESSAGE, "from {numbers} cross join message as t where t.key = many.value"),
    "due_messages": (t.MESSAGE, "from message as t where t.due_at <= {p} order by t.due_at, t.key limit {p}"),
    "locks": (t.LOCK, f"from {{texts}} cross join start_lock as t where {_ON_KEYS}"),
    "instances": (t.INSTANCE, "from {numbers} cross join instance as t where t.key = many.value"),
    "called_instances": (
        t.INSTANCE,
        "from {numbers} cross join instance as t where t.tree_key = many.value and t.parent_key <> 0",
    ),
    "waiting_instances": (
        t.INSTANCE,
        "from {texts} cross join subscription as s cross join instance as t where s.correlation_key = many.value"
        " and s.tenant_id = {p} and s.closed_at is null and t.key = s.instance_key",
    ),
    "ready_jobs": (
        t.JOB,
        "from job as t where t.type = {p} and t.tenant_id = {p} and t.state = 'ready' order by t.key limit {p}",
    ),
    "due_jobs": (t.JOB, "from job as t where t.due_at <= {p} order by t.due_at, t.key limit {p}"),
    "due_timers": (t.TIMER, "from timer as t where t.due_at <= {p} order by t.due_at, t.key limit {p}"),
    "start_timers": (
        t.TIMER,
        "from timer as t where t.process_id = {p} and t.tenant_id = {p} and t.instance_key = 0 order by t.key",
    ),
    "outbox": (t.OUTBOX, "from outbox as t where t.receiver = {p} and t.seq > {p} order by t.seq limit {p}"),
}
_QUERIES: dict[str, str] = {
    "head": "select version, next_key, time, sent from shard",
    "move_head": "update shard set version = {p}, next_key = {p}, time = {p}, sent = {p} where version = {p}",
    "id_holders": "select t.business_id, t.process_id, t.key from {texts} cross join instance as t"
    " where t.business_id = many.value and t.business_id <> '' and t.state = 'active' and t.tenant_id = {p}"
    " and t.parent_key = 0",
    "due_tables": "select "
    + ", ".join(f"exists(select 1 from {table.name} where due_at <= {{p}})" for table in (t.TIMER, t.JOB, t.MESSAGE)),
    "signal_instances": "select distinct instance_key from signal where name = {p} and tenant_id = {p} order by 1",
    "received": "select sender, seq from received",
    "receivers": "select distinct receiver from outbox order by 1",
    "position": "select part, position from position where source = {p}",
    "positions": "select t.part, t.position from {texts} cross join position as t"
    " where t.part = many.value and t.source = {p}",
    "mentioning": "select key from instance"
    " where state = 'active' and key < {p} and {find}(body, {p}) > 0 order by key",
}
_ANY: Mapping[str, Any] = {}
_COMPARISONS = {operator: operator for operator in ("=", "<>", "<", "<=", ">", ">=")}
_AS_IN_SCHEMA = {
    ("verdict", "<>", "correlated"): "verdict <> 'correlated'",
    ("state", "<>", "completed"): "state <> 'completed'",
    ("live", "=", 1): "live = 1",
    ("parent_key", "<>", 0): "parent_key <> 0",
}
"""An index over some of the rows is used where its condition is asked in its own words."""
_BY_BEGINNING = frozenset({("message", "name"), ("message", "correlation_key")})
_BEGINNING = 100
"""So many characters of these columns an index holds."""


@dataclass(frozen=True)
class Dialect:
    """The words of a database."""

    texts: str
    numbers: str
    p: str
    find: str
    schema: Mapping[str, str]
    like: str
    """Compares with a pattern, every letter for itself."""
    pattern: Callable[[str], str]
    """What the database calls a pattern with * and ?."""

    def statements(self) -> dict[str, str]:
        words = {"texts": self.texts, "numbers": self.numbers, "p": self.p, "find": self.find}
        said = {name: text.format(**words) for name, text in _QUERIES.items()}
        for name, (table, text) in _READS.items():
            columns = ", ".join(f"t.{column}" for column in table.columns)
            said[name] = f"select {columns} " + text.format(**words)
        return said

    def list_rows(
        self,
        table: Table,
        where: Mapping[str, Any] = _ANY,
        after: tuple[Any, ...] | None = None,
        limit: int | None = None,
        order: Order = BY_KEY,
    ) -> tuple[str, list[Any]]:
        """A statement for rows in an order, and its parameters; one that is a list stands for the table `many`."""
        tests, parameters = self._conditions(table, where)
        by = places_of(table, order)
        if after is not None:
            tests.append(f"({', '.join(by)}) {'<' if order.backward else '>'} ({', '.join([self.p] * len(by))})")
            parameters.extend(after)
        way = " desc" if order.backward else ""
        text = f"select {', '.join(table.columns)} from {table.name}{_where(tests)}"
        text += f" order by {', '.join(column + way for column in by)}"
        return (text, parameters) if limit is None else (f"{text} limit {self.p}", [*parameters, limit])

    def count_rows(self, table: Table, where: Mapping[str, Any], most: int) -> tuple[str, list[Any]]:
        tests, parameters = self._conditions(table, where)
        found = f"select 1 as one from {table.name}{_where(tests)} limit {self.p}"
        return f"select count(*) from ({found}) as counted", [*parameters, most]

    def _conditions(self, table: Table, where: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
        tests: list[str] = []
        parameters: list[Any] = []
        for column, value in where.items():
            for operator, operand in _tests(value):
                if operator == "=" and (table.name, column) in _BY_BEGINNING:
                    # Beginning and rest: with the column as a whole SQLite would not see that an index has the former.
                    tests.append(f"substr({column}, 1, {_BEGINNING}) = {self.p}")
                    tests.append(f"substr({column}, {_BEGINNING + 1}) = {self.p}")
                    parameters += [operand[:_BEGINNING], operand[_BEGINNING:]]
                    continue
                tests.append(self._test(table, column, operator, operand))
                is_said = operand is None or _in_schema(column, operator, operand) is not None
                parameters += [] if is_said else [self._parameter(operator, operand)]
        return tests, parameters

    def _test(self, table: Table, column: str, operator: str, value: Any) -> str:
        if column not in table.columns:
            raise KeyError(f"{table.name}.{column}")
        if value is None:
            return f"{column} is null" if operator == "=" else f"{column} is not null"
        in_schema = _in_schema(column, operator, value)
        if in_schema is not None:
            return in_schema
        if operator in ("in", "not in"):
            is_number = table.types[table.columns.index(column)] is int
            test = f"{column} {operator} (select many.value from {self.numbers if is_number else self.texts})"
        else:
            test = f"{column} {self.like if operator == 'like' else _COMPARISONS[operator]} {self.p}"
        # To the database nothing is neither equal to a value nor different from it.
        return f"({test} or {column} is null)" if operator in ("<>", "not in") else test

    def _parameter(self, operator: str, value: Any) -> Any:
        if operator == "like":
            return self.pattern(value)
        return list(value) if isinstance(value, tuple) else value


def places_of(table: Table, order: Order) -> tuple[str, ...]:
    """The columns that tell where a row stands in an order."""
    return (*order.columns, *(column for column in table.key if column not in order.columns))


def _where(tests: Sequence[str]) -> str:
    return f" where {' and '.join(tests)}" if tests else ""


def _in_schema(column: str, operator: str, value: Any) -> str | None:
    return None if isinstance(value, tuple) else _AS_IN_SCHEMA.get((column, operator, value))


def _tests(value: Any) -> tuple[tuple[str, Any], ...]:
    """What a condition of a list asks of its column."""
    if isinstance(value, Meets):
        return value.tests
    if isinstance(value, Before):
        return (("<", value.value),)
    return (("in" if isinstance(value, tuple) else "=", value),)


def pieces(pattern: str) -> list[tuple[str, bool]]:
    """The characters of a pattern, each with whether it stands for others."""
    found, escaped = [], False
    for character in pattern:
        if character == "\\" and not escaped:
            escaped = True
            continue
        found.append((character, character in "*?" and not escaped))
        escaped = False
    return found


class Reads(InboxReads):
    """The reading half of a `ShardSnapshot`, on whatever answers `_read` with the name of a statement."""

    def _read(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def _many(self, values: Sequence[Any]) -> Any:
        """A list as the one parameter that makes the table `many`."""
        raise NotImplementedError

    def _rows(self, statement: str, *parameters: Any) -> list[Any]:
        return list(map(_READS[statement][0].row._make, self._read(statement, *parameters)))

    def key_rows(self, tenant_id: str, keys: Sequence[str], most: int) -> KeyRows:
        places = (self._many(keys), tenant_id)
        return KeyRows(
            self._rows("subscriptions", *places), self._rows("messages", *places, most), self._rows("locks", *places)
        )

    def live_messages(self, tenant_id: str, key: str, name: str, after: int, limit: int) -> Sequence[MessageRow]:
        return self._rows("live_messages", key, tenant_id, name, after, limit)

    def held_messages(self, tenant_id: str, key: str) -> Sequence[MessageRow]:
        return self._rows("held_messages", key, tenant_id)

    def messages_with_id(self, tenant_id: str, key: str, name: str, message_id: str) -> Sequence[MessageRow]:
        return self._rows("messages_with_id", key, tenant_id, name, message_id)

    def messages_with_business_id(
        self, tenant_id: str, business_id: str, after: int, limit: int
    ) -> Sequence[MessageRow]:
        return self._rows("messages_with_business_id", business_id, tenant_id, after, limit)

    def id_holders(self, tenant_id: str, business_ids: Sequence[str]) -> Sequence[IdHolder]:
        return list(map(IdHolder._make, self._read("id_holders", self._many(business_ids), tenant_id)))

    def instances(self, keys: Sequence[int]) -> Sequence[InstanceRow]:
        return self._whole_trees(self._rows("instances", self._many(keys)))

    def waiting_instances(self, tenant_id: str, keys: Sequence[str]) -> Sequence[InstanceRow]:
        return self._whole_trees(self._rows("waiting_instances", self._many(keys), tenant_id))

    def _whole_trees(self, some: Sequence[InstanceRow]) -> list[InstanceRow]:
        """Most instances call no other and are a tree of their own, so that hardly anything more is found."""
        found = {row.key: row for row in some}
        trees = list(dict.fromkeys(row.tree_key for row in some))
        callers = [key for key in trees if key not in found]
        found.update((row.key, row) for row in self._rows("called_instances", self._many(trees)))
        found.update((row.key, row) for row in (self._rows("instances", self._many(callers)) if callers else ()))
        return [row for row in found.values() if row.state == "active"]

    def instances_of(self, table: Table, keys: Sequence[int]) -> Mapping[int, int]:
        return dict(self._read(f"instances_of_{table.name}", self._many(keys)))

    def instances_mentioning(self, key: int) -> Sequence[int]:
        return [found for (found,) in self._read("mentioning", key, str(key))]

    def ready_jobs(self, tenant_id: str, type_: str, limit: int) -> Sequence[JobRow]:
        return self._rows("ready_jobs", type_, tenant_id, limit)

    def due_tables(self, at: int) -> Collection[Table]:
        [found] = self._read("due_tables", at, at, at)
        return [table for table, has in zip((t.TIMER, t.JOB, t.MESSAGE), found, strict=True) if has]

    def due_jobs(self, at: int, limit: int) -> Sequence[JobRow]:
        return self._rows("due_jobs", at, limit)

    def due_timers(self, at: int, limit: int) -> Sequence[TimerRow]:
        return self._rows("due_timers", at, limit)

    def start_timers(self, tenant_id: str, process_id: str) -> Sequence[TimerRow]:
        return self._rows("start_timers", process_id, tenant_id)

    def messages(self, keys: Sequence[int]) -> Sequence[MessageRow]:
        return self._rows("messages_by_key", self._many(keys))

    def due_messages(self, at: int, limit: int) -> Sequence[MessageRow]:
        return self._rows("due_messages", at, limit)

    def signal_instances(self, tenant_id: str, name: str) -> Sequence[int]:
        return [key for (key,) in self._read("signal_instances", name, tenant_id)]

    def outbox(self, receiver: int, after: int, limit: int) -> Sequence[OutboxRow]:
        return self._rows("outbox", receiver, after, limit)

    def receivers(self) -> Sequence[int]:
        return [receiver for (receiver,) in self._read("receivers")]

    def received(self) -> Mapping[int, int]:
        return dict(self._read("received"))

    def position(self, source: str) -> Mapping[str, str]:
        return dict(self._read("position", source))

    def positions(self, source: str, parts: Sequence[str]) -> Mapping[str, str]:
        return dict(self._read("positions", self._many(parts), source))


_READS |= INBOX_READS
_QUERIES |= INBOX_QUERIES
_QUERIES |= {
    f"instances_of_{table.name}": "select j.key, j.instance_key from {numbers} cross join "
    + f"{table.name} as j where j.key = many.value"
    for table in (t.JOB, t.TIMER, t.INCIDENT, t.SCOPE)
}
