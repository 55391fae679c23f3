"""The statements that both databases share, and the reads of a snapshot made of them.

`{texts}` and `{numbers}` are a table `many` of the values of one parameter: a bulk read is one statement, whatever its
size. It stands first in a cross join, so that each value is looked up and the large table is never walked.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conjoin.store import tables as t
from conjoin.store.port import BY_KEY, Before, IdHolder, KeyRows, Meets, RowOrder, Standing
from conjoin.store.rows import InstanceRow, JobRow, MessageRow, OutboxRow, SetAsideRow, SubscriptionRow, TimerRow
from conjoin.store.sql.inbox import INBOX_QUERIES, INBOX_READS, InboxReads
from conjoin.store.tables import Table

_ON_KEYS = "t.correlation_key = many.value and t.tenant_id = {p}"


def _not_set_aside(table: Table) -> str:
    return f"not exists (select 1 from set_aside as a where a.kind = '{table.name}' and a.item_key = t.key)"


def _due(table: Table) -> str:
    return f"from {table.name} as t where t.due_at <= {{p}} and {_not_set_aside(table)}"


def _gone(table: Table) -> str:
    still = f"select 1 from {table.name} as t where t.key = a.item_key and t.due_at <= a.tried_at"
    return f"(a.kind = '{table.name}' and not exists ({still}))"


_READS: dict[str, tuple[Table, str]] = {
    "subscriptions": (
        t.SUBSCRIPTION,
        # So many of each key and no more, as for messages.
        f"from {{texts}} cross join subscription as t where {_ON_KEYS} and t.key in (select s.key"
        " from subscription as s where s.correlation_key = many.value and s.tenant_id = {p} order by s.key limit {p})",
    ),
    "subscriptions_by_key": (
        t.SUBSCRIPTION,
        "from {numbers} cross join subscription as t where t.key = many.value and t.correlation_key = {p}"
        " and t.tenant_id = {p}",
    ),
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
    "due_messages": (t.MESSAGE, _due(t.MESSAGE) + " order by t.due_at, t.key limit {p}"),
    "locks": (t.LOCK, f"from {{texts}} cross join start_lock as t where {_ON_KEYS}"),
    "instances": (t.INSTANCE, "from {numbers} cross join instance as t where t.key = many.value"),
    "ready_jobs": (
        t.JOB,
        "from job as t where t.type = {p} and t.tenant_id = {p} and t.state = 'ready' order by t.key limit {p}",
    ),
    "due_jobs": (t.JOB, _due(t.JOB) + " order by t.due_at, t.key limit {p}"),
    "due_timers": (t.TIMER, _due(t.TIMER) + " order by t.due_at, t.key limit {p}"),
    "timers": (t.TIMER, "from {numbers} cross join timer as t where t.key = many.value"),
    "jobs": (t.JOB, "from {numbers} cross join job as t where t.key = many.value"),
    "set_aside": (t.SET_ASIDE, "from {numbers} cross join set_aside as t where t.key = many.value"),
    "set_aside_of": (t.SET_ASIDE, "from set_aside as t where t.kind = {p} and t.item_key = {p}"),
    "start_timers": (
        t.TIMER,
        "from timer as t where t.process_id = {p} and t.tenant_id = {p} and t.instance_key = 0 order by t.key",
    ),
    "outbox": (t.OUTBOX, "from outbox as t where t.receiver = {p} and t.seq > {p} order by t.seq limit {p}"),
}
_CROWD = {
    "idle": "t.busy_with = 0 and t.closed_at is null",
    "busy": "t.busy_with <> 0 and t.closed_at is null",
    "kept": "t.busy_with = 0 and t.closed_at is not null",
}
"""Each has an index of its own."""
_READS |= {
    f"crowd_{kind}": (
        t.SUBSCRIPTION,
        "from subscription as t where t.correlation_key = {p} and t.tenant_id = {p} and t.crowd > {p} and t.crowd < {p}"
        f" and t.crowd <> '' and {condition} order by t.crowd limit {{p}}",
    )
    for kind, condition in _CROWD.items()
}
_QUERIES: dict[str, str] = {
    "head": "select version, next_key, time, sent from shard",
    "move_head": "update shard set version = {p}, next_key = {p}, time = {p}, sent = {p} where version = {p}",
    "id_holders": "select t.business_id, t.process_id, t.key from {texts} cross join instance as t"
    " where t.business_id = many.value and t.business_id <> '' and t.state = 'active' and t.tenant_id = {p}"
    " and t.parent_key = 0",
    "due_tables": "select " + ", ".join(f"exists(select 1 {_due(table)})" for table in (t.TIMER, t.JOB, t.MESSAGE)),
    "set_aside_count": "select count(*) from set_aside where state = 'waiting'",
    "set_aside_due": "select key from set_aside where next_try_at <= {p} order by next_try_at, key limit {p}",
    "set_aside_gone": "select a.key from set_aside as a where a.state = 'waiting' and ("
    + " or ".join(map(_gone, (t.TIMER, t.JOB, t.MESSAGE)))
    + ") limit {p}",
    "signal_instances": "select distinct instance_key from signal where name = {p} and tenant_id = {p} order by 1",
    "received": "select sender, seq from received",
    "receivers": "select distinct receiver from outbox order by 1",
    "position": "select part, position from position where source = {p}",
    "positions": "select t.part, t.position from {texts} cross join position as t"
    " where t.part = many.value and t.source = {p}",
    "mentioning": "select key from instance"
    " where key >= {p} and key < {p} and state = 'active' and {find}(body, {p}) > 0 order by key",
    "mentioning_of": "select t.key from {numbers} cross join instance as t"
    " where t.key = many.value and t.state = 'active' and {find}(t.body, {p}) > 0",
    "log_ends": "select (select min(version) from log), (select max(version) from log)",
    # A block that says nothing has two bytes.
    "log_from": "select version, block from log where version >= {p} and length(block) > 2 order by version limit 1",
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
class SqlDialect:
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
    short: Callable[[str], str] = str
    """A column as it stands in an index: where that has little space, not every text stands there as it is."""
    asked_short: Callable[[str], str] = str
    """A statement with columns compared as they stand in an index."""

    def statements(self) -> dict[str, str]:
        words = {"texts": self.texts, "numbers": self.numbers, "p": self.p, "find": self.find}
        words["group_key"] = self.short("t.group_key")
        said = {name: text.format(**words) for name, text in _QUERIES.items()}
        for name, (table, text) in _READS.items():
            columns = ", ".join(f"t.{column}" for column in table.columns)
            said[name] = f"select {columns} " + text.format(**words)
        return {name: self.asked_short(text) for name, text in said.items()}

    def list_rows(
        self,
        table: Table,
        where: Mapping[str, Any] = _ANY,
        after: tuple[Any, ...] | None = None,
        limit: int | None = None,
        order: RowOrder = BY_KEY,
    ) -> tuple[str, list[Any]]:
        """A statement for rows in an order, and its parameters; one that is a list stands for the table `many`."""
        tests, parameters = self._conditions(table, where)
        columns = places_of(table, order)
        # What people want in order orders as it is, the key as it stands in its index.
        by = [column if column in order.columns else self.short(column) for column in columns]
        if after is not None:
            values = ", ".join(it.replace(column, self.p) for it, column in zip(by, columns, strict=True))
            tests.append(f"({', '.join(by)}) {'<' if order.backward else '>'} ({values})")
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
            test = self.asked_short(f"{column} {self.like if operator == 'like' else _COMPARISONS[operator]} {self.p}")
        # To the database nothing is neither equal to a value nor different from it.
        return f"({test} or {column} is null)" if operator in ("<>", "not in") else test

    def _parameter(self, operator: str, value: Any) -> Any:
        if operator == "like":
            return self.pattern(value)
        return list(value) if isinstance(value, tuple) else value


def places_of(table: Table, order: RowOrder) -> tuple[str, ...]:
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

    def key_rows(self, tenant_id: str, keys: Sequence[str], most: int, most_waiting: int) -> KeyRows:
        places = (self._many(keys), tenant_id)
        return KeyRows(
            self._rows("subscriptions", *places, tenant_id, most_waiting),
            self._rows("messages", *places, most),
            self._rows("locks", *places),
        )

    def subscriptions(self, tenant_id: str, key: str, numbers: Sequence[int]) -> Sequence[SubscriptionRow]:
        return self._rows("subscriptions_by_key", self._many(numbers), key, tenant_id)

    def crowd(
        self, kind: Standing, tenant_id: str, key: str, between: tuple[str, str], limit: int
    ) -> Sequence[SubscriptionRow]:
        return self._rows(f"crowd_{kind}", key, tenant_id, *between, limit)

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
        found = {row.key: row for row in self._rows("instances", self._many(keys))}
        outermost = list(dict.fromkeys(row.tree_key for row in found.values() if row.tree_key not in found))
        around = self._rows("instances", self._many(outermost)) if outermost else ()
        return [row for row in (*found.values(), *around) if row.state == "active"]

    def instances_of(self, table: Table, keys: Sequence[int]) -> Mapping[int, int]:
        return dict(self._read(f"instances_of_{table.name}", self._many(keys)))

    def instances_mentioning(self, key: int, since: int) -> Sequence[int]:
        return [found for (found,) in self._read("mentioning", since, key, str(key))]

    def those_mentioning(self, key: int, instances: Sequence[int]) -> Sequence[int]:
        return [found for (found,) in self._read("mentioning_of", self._many(instances), str(key))]

    def log_ends(self) -> tuple[int, int]:
        [(first, last)] = self._read("log_ends")
        return first or 0, last or 0

    def log_from(self, version: int) -> tuple[int, bytes] | None:
        return next(((found, bytes(block)) for found, block in self._read("log_from", version)), None)

    def ready_jobs(self, tenant_id: str, type_: str, limit: int) -> Sequence[JobRow]:
        return self._rows("ready_jobs", type_, tenant_id, limit)

    def due_tables(self, at: int) -> Collection[Table]:
        [found] = self._read("due_tables", at, at, at)
        return [table for table, has in zip((t.TIMER, t.JOB, t.MESSAGE), found, strict=True) if has]

    def due_jobs(self, at: int, limit: int) -> Sequence[JobRow]:
        return self._rows("due_jobs", at, limit)

    def due_timers(self, at: int, limit: int) -> Sequence[TimerRow]:
        return self._rows("due_timers", at, limit)

    def timers(self, keys: Sequence[int]) -> Sequence[TimerRow]:
        return sorted(self._rows("timers", self._many(keys)), key=_by_due)

    def jobs(self, keys: Sequence[int]) -> Sequence[JobRow]:
        return sorted(self._rows("jobs", self._many(keys)), key=_by_due)

    def set_aside(self, keys: Sequence[int]) -> Sequence[SetAsideRow]:
        return self._rows("set_aside", self._many(keys))

    def set_aside_of(self, kind: str, item_key: int) -> Sequence[SetAsideRow]:
        return self._rows("set_aside_of", kind, item_key)

    def set_aside_due(self, at: int, limit: int) -> Sequence[int]:
        return [key for (key,) in self._read("set_aside_due", at, limit)]

    def set_aside_gone(self, limit: int) -> Sequence[int]:
        return [key for (key,) in self._read("set_aside_gone", limit)]

    def set_aside_count(self) -> int:
        [(count,)] = self._read("set_aside_count")
        return int(count)

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


def _by_due(row: Any) -> tuple[int, int]:
    return row.due_at or 0, row.key


_READS |= INBOX_READS
_QUERIES |= INBOX_QUERIES
_QUERIES |= {
    f"instances_of_{table.name}": "select j.key, j.instance_key from {numbers} cross join "
    + f"{table.name} as j where j.key = many.value"
    for table in (t.JOB, t.TIMER, t.INCIDENT, t.SCOPE)
}
