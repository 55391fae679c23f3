"""SQL dialects: the words of a database, and the statements of lists, counts and scans made of them.

Names are looked up among those that there are, and values are parameters: nothing that a client sent becomes text of a
statement unseen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from conjoin.store import tables as t
from conjoin.store.port import BY_KEY, Condition, Meets, RowOrder, Where, tests_of
from conjoin.store.sql.message_parts import BEGINNING, PART_BITS
from conjoin.store.sql.statements import FIRST_OF_GROUPS, LOOKUPS, OF_ONE_KEY, QUERIES, READS
from conjoin.store.tables import Table

_TABLES = {table.name: table for table in (*t.SHARD, *t.VIEWS)}
_ANY: Where = {}
_COMPARISONS = {operator: operator for operator in ("=", "<>", "<", "<=", ">", ">=")}
_WITH_NULL = {"=": "is null", "<>": "is not null"}
_AS_IN_SCHEMA = {
    ("verdict", "<>", "correlated"): "verdict <> 'correlated'",
    ("state", "<>", "completed"): "state <> 'completed'",
    ("live", "=", 1): "live = 1",
    ("parent_key", "<>", 0): "parent_key <> 0",
}
"""An index over some of the rows is used where its condition is written in its own words."""
_BY_BEGINNING = ("name", "correlation_key")
"""Of a message: an index holds their beginning."""
_CLOSED_OR_NOT = Meets(())
_BOUNDS = {"=": "=", "<": "<=", "<=": "<=", ">": ">=", ">=": ">="}


class RowSource(NamedTuple):
    """What rows are read from, under which conditions, and what else they come in the order of, before their keys."""

    text: str
    tests: Sequence[str] = ()
    parameters: Sequence[Any] = ()
    first: Sequence[str] = ()


@dataclass(frozen=True)
class SqlDialect:
    """The words of a database."""

    texts: str
    numbers: str
    p: str
    find: str
    size: str
    """How many bytes a text has: it is not read for that."""
    schema: Mapping[str, str]
    lookup: str
    """How the rows of `{table}` that meet `{condition}` are looked up for each value of a parameter."""
    first: str
    """The same where the condition has an order and a limit of its own."""
    like: str
    """Compares with a pattern, case-sensitively."""
    pattern: Callable[[str], str]
    """A pattern with * and ? in the words of the database."""
    short: Callable[[str], str] = str
    """A column as it stands in an index: where that has little space, not every text stands there as it is."""
    by_part: str = ""
    """Says by which index messages are looked up part by part, where the database would take another one."""
    same_shard: tuple[str, ...] = ()
    """Where messages of several shards are listed: they are looked up in the parts of their own."""
    asked_short: Callable[[str], str] = str
    """A statement with columns compared as they stand in an index."""

    def statements(self) -> dict[str, str]:
        words = {"texts": self.texts, "numbers": self.numbers, "p": self.p, "find": self.find, "size": self.size}
        words |= {column: self.short(f"t.{column}") for column in ("group_key", "wait_on", "correlation_key")}
        texts = dict(QUERIES)
        for name, (table, text) in READS.items():
            texts[name] = f"select {_listed(table.columns)} {text}"
        for name, (table, condition) in OF_ONE_KEY.items():
            texts[f"{name}_of_one"] = f"select {_listed(table.columns)} from {table.name} as t where {condition}"
        for name, it in LOOKUPS.items():
            rows = self.lookup.format(table=it.table.name, condition=it.condition)
            texts[name] = (
                f"select {it.expressions or _listed(it.columns or it.table.columns)} from {{{it.many}}} {rows}"
            )
        for name, condition in FIRST_OF_GROUPS.items():
            rows = self.first.format(table=t.INBOX.name, condition=f"t.group_key = many.value and {condition}")
            texts[name] = f"select {_listed(t.INBOX.columns)} from {{texts}} {rows}"
        return {name: self.asked_short(text.format(**words)) for name, text in texts.items()}

    def list_rows(
        self,
        table: Table,
        where: Where = _ANY,
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
        listed = ", ".join(table.columns)
        reached = {"key": Meets((("<" if order.backward else ">", after[-1]),))} if after and not order.columns else {}
        sources = self._sources(table, {**reached, **where})
        texts, all_parameters = [], []
        for source in sources:
            # Parts come in the order of the keys.
            end, ending = _end(self.p, by if order.columns else [*source.first, *by], order, limit)
            texts.append(f"select {listed} from {source.text}{_where([*source.tests, *tests])}{end}")
            all_parameters += [*source.parameters, *parameters, *ending]
        if len(texts) == 1:
            return texts[0], all_parameters
        # The first of each, in the order of its own index, are merged.
        together = " union all ".join(f"select * from ({text}) as part" for text in texts)
        end, ending = _end(self.p, by, order, limit)
        return f"select {listed} from ({together}) as parts{end}", [*all_parameters, *ending]

    def count_rows(self, table: Table, where: Where, most: int) -> tuple[str, list[Any]]:
        tests, parameters = self._conditions(table, where)
        sources = self._sources(table, where)
        texts = [f"select 1 as one from {source.text}{_where([*source.tests, *tests])}" for source in sources]
        found = f"select one from ({' union all '.join(texts)}) as found limit {self.p}"
        everything = [value for source in sources for value in (*source.parameters, *parameters)]
        return f"select count(*) from ({found}) as counted", [*everything, most]

    def _sources(self, table: Table, where: Where) -> Sequence[RowSource]:
        """What a list is merged of. Those that wait are listed without a look at those that were closed."""
        if table is t.SUBSCRIPTION:
            is_open = ("=", None) in tests_of(where.get("closed_at", _CLOSED_OR_NOT))
            return [RowSource(it.name) for it in (t.APART, t.AT_HOME, *(() if is_open else (t.CLOSED_AT_HOME,)))]
        return [(self._in_parts(where) if table is t.MESSAGE else None) or RowSource(table.name)]

    def _in_parts(self, where: Where) -> RowSource | None:
        """Messages by their correlation key or name, unless there is a better way: few of them are not correlated."""
        names, keys = (_equal_to(where, column) for column in _BY_BEGINNING)
        if not keys and (not names or ("<>", "correlated") in tests_of(where.get("verdict", ()))):
            return None
        tests = [f"name_start = {self.p}", *self.same_shard]
        parameters: list[Any] = [names[0][:BEGINNING] if names else ""]
        if keys:
            # As a plain value: SQLite takes a column for a number, and then sees no index of an expression.
            tests.append(f"(key >> {PART_BITS}) = +part_number")
        else:
            first, end = (f"({it} << {PART_BITS})" for it in ("part_number", "(part_number + 1)"))
            tests.append(f"key >= {first} and key < {end}")
        for operator, number in tests_of(where.get("key", ())):
            if operator in _BOUNDS:
                tests.append(f"part_number {_BOUNDS[operator]} {self.p}")
                parameters.append(number >> PART_BITS)
        messages = f"message {self.by_part}" if keys else "message"
        return RowSource(f"message_part cross join {messages}", tests, parameters, ["part_number"])

    def scan(self, name: str, columns: Sequence[str], where: Sequence[Condition]) -> tuple[str, list[Any]]:
        """All rows of a table that meet the conditions. Raises KeyError for names that are not ours."""
        table = _TABLES[name]
        for column in (*columns, *(condition[0] for condition in where)):
            if column not in table.columns:
                raise KeyError(f"{name}.{column}")
        tests = []
        for column, operator, value in where:
            if value is None:
                tests.append(f"{column} {_WITH_NULL[operator]}")
            elif operator == "in":
                tests.append(f"{column} in {self._values(table, column)}")
            else:
                tests.append(f"{column} {_COMPARISONS[operator]} {self.p}")
        text = f"select {', '.join(columns)} from {table.name}{_where(tests)}"
        return text, [value for _, _, value in where if value is not None]

    def _conditions(self, table: Table, where: Where) -> tuple[list[str], list[Any]]:
        tests: list[str] = []
        parameters: list[Any] = []
        for column, value in where.items():
            if column not in table.columns:
                raise KeyError(f"{table.name}.{column}")
            for operator, operand in tests_of(value):
                in_schema = None if isinstance(operand, tuple) else _AS_IN_SCHEMA.get((column, operator, operand))
                if operator == "=" and table is t.MESSAGE and column in _BY_BEGINNING:
                    # Beginning and rest: with the column as a whole SQLite would not see that an index has the former.
                    tests.append(f"substr({column}, 1, {BEGINNING}) = {self.p}")
                    tests.append(f"substr({column}, {BEGINNING + 1}) = {self.p}")
                    parameters += [operand[:BEGINNING], operand[BEGINNING:]]
                elif operand is None:
                    tests.append(f"{column} {'is null' if operator == '=' else 'is not null'}")
                elif in_schema is not None:
                    tests.append(in_schema)
                else:
                    tests.append(self._test(table, column, operator))
                    parameters.append(self._parameter(operator, operand))
        return tests, parameters

    def _test(self, table: Table, column: str, operator: str) -> str:
        if operator in ("in", "not in"):
            test = f"{column} {operator} {self._values(table, column)}"
        else:
            test = self.asked_short(f"{column} {self.like if operator == 'like' else _COMPARISONS[operator]} {self.p}")
        # To the database null is neither equal to a value nor different from it.
        return f"({test} or {column} is null)" if operator in ("<>", "not in") else test

    def _values(self, table: Table, column: str) -> str:
        is_number = table.types[table.columns.index(column)] is int
        return f"(select many.value from {self.numbers if is_number else self.texts})"

    def _parameter(self, operator: str, value: Any) -> Any:
        if operator == "like":
            return self.pattern(value)
        return list(value) if isinstance(value, tuple) else value


def places_of(table: Table, order: RowOrder) -> tuple[str, ...]:
    """The columns that tell where a row stands in an order."""
    return (*order.columns, *(column for column in table.key if column not in order.columns))


def _equal_to(where: Where, column: str) -> list[str]:
    return [it for operator, it in tests_of(where.get(column, ())) if operator == "=" and isinstance(it, str)]


def _end(p: str, by: Sequence[str], order: RowOrder, limit: int | None) -> tuple[str, list[Any]]:
    way = " desc" if order.backward else ""
    end = f" order by {', '.join(column + way for column in by)}"
    return (end, []) if limit is None else (f"{end} limit {p}", [limit])


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(f"t.{column}" for column in columns)


def _where(tests: Sequence[str]) -> str:
    return f" where {' and '.join(tests)}" if tests else ""


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
