"""Events as rows: every input table becomes rows of one shape, shuffled by correlation key and sorted in time.

Order inside a key: time; within one instant ends, then openings by id, then publications by position. (Closings
travel with their openings.) One row is one row: what cannot be read stays in as a row with a `fault`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from conjoin.kernel.instants import ALWAYS
from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate.columns import (
    PRIOR,
    TABLES,
    ColumnType,
    Types,
    fault_of,
    has_prior,
    quoted,
    read_column,
    types_of,
)
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
    REPEATED,
    SHAPE,
    SLOT_OF,
    START,
    TABLE_OF,
    Layout,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUSINESS_KEY = "business_key"

Slot = tuple[str, ColumnType | str]

_ALWAYS = {"key", "position", "id"}
"""The order is by these, whatever the tables hold."""

REPEATS, _POSITION, _CHOSEN, _FAULT = (f"_conjoin_{word}" for word in ("repeated", "at", "chosen", "fault"))
_MOST_BROADCAST = 100_000
"""More repeated positions than that are not sent to every worker."""


class InputTable(NamedTuple):
    """An input table: its name, its rows, and the types of its columns."""

    table: str
    frame: "DataFrame"
    types: Types


def layout_of(messages: Types, policies: Policies) -> Layout:
    contracts = {contract.name: contract for contract in TABLES["messages"]}
    prior = has_prior(messages)
    ours = [contract.name for contract in PRIOR] if prior else []
    slots = {}
    for number, name in enumerate(name for name in messages if name not in ours):
        exact = name in contracts and read_column(contracts[name], messages).exact
        if name == "correlation_key" and business_keyed(policies) is not None:
            # Another value may stand in its slot.
            exact = False
        # By number: mapInArrow looks columns up by name, and cannot when a dot or a backtick is in it.
        slots[name] = SLOT_OF[name] if exact else f"m_{number}"
    return Layout(tuple(slots), slots, prior)


def other_columns(messages: Types) -> list[str]:
    known = {contract.name for contract in (*TABLES["messages"], *PRIOR)}
    return [name for name in messages if name not in known]


def message_rows(
    messages: "DataFrame", types: Types, layout: Layout, policies: Policies, repeated: int = 0
) -> "DataFrame":
    """`repeated`: how many positions occur more than once."""
    beside = {slot: quoted(name) for name, slot in layout.slots.items() if slot.startswith("m_")}
    if layout.prior:
        prior = {contract.name: read_column(contract, types).value for contract in PRIOR}
        beside["kept"] = prior.pop("kept_at")
        prior["decided_at"] = f"timestamp_micros({prior['decided_at']})"
        beside |= {f"prior_{name}": column for name, column in prior.items()}
    if repeated:
        messages = _with_repeated_positions(messages, types, repeated)
    once = f"case when not {REPEATS} then 'duplicate_position:position' end" if REPEATS in messages.columns else None
    return _rows(InputTable("messages", messages, types), PUBLISH, policies, beside, once)


def positions_of(messages: "DataFrame", types: Types) -> "DataFrame":
    """The position of each row that has one, and a hash of what tells the row from others."""
    read = {contract.name: read_column(contract, types).value for contract in TABLES["messages"]}
    rows = messages.selectExpr(f"{read['position']} as {_POSITION}", f"{told_apart(read)} as hash")
    return rows.where(f"{_POSITION} is not null")


def repeated_positions(messages: "DataFrame", types: Types) -> "DataFrame":
    """The positions that occur more than once, each with the lowest hash of its rows."""
    from pyspark.sql import functions as F

    chosen = positions_of(messages, types).groupBy(_POSITION)
    counted = chosen.agg(F.expr("count(*) as times"), F.expr(f"min(hash) as {_CHOSEN}"))
    return counted.where("times > 1").select(_POSITION, _CHOSEN)


def told_apart(read: dict[str, str]) -> str:
    # The hash passes over nulls: without a text in their place, one column could be taken for another.
    texts = [f"coalesce({read[name]}, '')" for name in ("correlation_key", "name", "message_id")]
    return f"xxhash64({', '.join((read['position'], read['published_at'], *texts))})"


def _with_repeated_positions(messages: "DataFrame", types: Types, repeated: int) -> "DataFrame":
    """Of the rows that share a position one is kept: exact copies count as one, of others the lowest hash."""
    from pyspark.sql import functions as F

    read = {contract.name: read_column(contract, types).value for contract in TABLES["messages"]}
    others = repeated_positions(messages, types)
    if repeated <= _MOST_BROADCAST:
        others = F.broadcast(others)
    joined = messages.join(others, F.expr(f"{read['position']} = {_POSITION}"), "left")
    marked = joined.withColumn(REPEATS, F.expr(f"{_CHOSEN} = {told_apart(read)}"))
    return marked.drop(_POSITION, _CHOSEN)


def unreadable_rows(table: str, unreadable: "DataFrame") -> "DataFrame":
    """What no reader could take for a row of the table: dead letters from the start, spread over all partitions."""
    kind = next(kind for kind, name in TABLE_OF.items() if name == table)
    return unreadable.selectExpr(
        f"cast(-{kind} as tinyint) as kind",
        "hex(xxhash64(row)) as key",
        "concat(reason, '\n', detail, '\n', make_valid_utf8(row)) as fault",
    )


def subscription_rows(
    subscriptions: "DataFrame", types: Types, policies: Policies, come_again: bool = False
) -> "DataFrame":
    """A subscription without ids of its own is named after its row (the hash passes over nulls: told apart here). Where
    rows `come_again` with `closed_at`, the name is that of the row without it."""
    columns = _hashable({name: kind for name, kind in types.items() if not (come_again and name == "closed_at")})
    frame_hash = f"lower(hex(xxhash64({', '.join([*columns, *(f'{column} is null' for column in columns)])})))"
    read = {contract.name: read_column(contract, types).value for contract in TABLES["subscriptions"]}
    named = {
        SLOT_OF[column]: f"coalesce({read[column]}, concat('{column[0]}-', {frame_hash}))"
        for column in ("subscription_id", "instance_id", "element_id")
    }
    return _rows(InputTable("subscriptions", subscriptions, types), OPEN, policies, named)


def start_rows(starts: "DataFrame", types: Types) -> "DataFrame":
    """Only those that cannot be used; the others are told to every partition."""
    return all_start_rows(starts, types).where("fault is not null")


def all_start_rows(starts: "DataFrame", types: Types) -> "DataFrame":
    return _rows(InputTable("starts", starts, types), START)


def usable_starts(starts: "DataFrame") -> "DataFrame":
    """With every slot that tells of a start, be it empty."""
    rows = _rows(InputTable("starts", starts, types_of(starts)), START).where("fault is null")
    return _shaped(rows, [slot for slot in SHAPE if slot[0] in SLOT_OF.values()])


def end_rows(ends: "DataFrame", types: Types) -> "DataFrame":
    return _rows(InputTable("ends", ends, types), END)


def lock_rows(locks: "DataFrame", types: Types) -> "DataFrame":
    return _rows(InputTable("locks", locks, types), LOCK, more={"at": f"{ALWAYS}L"})


def id_rows(ids: "DataFrame", types: Types) -> "DataFrame":
    published = read_column(TABLES["ids"][3], types).value
    return _rows(InputTable("ids", ids, types), ID, more={"at": f"{ALWAYS}L", "kept": published})


def _rows(
    source: InputTable,
    kind: int,
    policies: Policies | None = None,
    more: dict[str, str] | None = None,
    fault: str | None = None,
) -> "DataFrame":
    table, frame, types = source
    present = [contract for contract in TABLES[table] if contract.name in types]
    read = {contract.name: read_column(contract, types) for contract in present}
    # Those of the two large tables are looked at where each name is read once, in the fold.
    blank = table not in ("messages", "subscriptions")
    # In steps: each value is read once, and the code that Spark makes of a step stays small.
    values = {name: f"_conjoin_{name}" for name in read}
    faults = (fault_of(contract, values[contract.name], read[contract.name].present, blank) for contract in present)
    found = ["cast(null as string)", *(text for text in (*faults, fault) if text is not None)]
    own = ", ".join(quoted(name) for name in frame.columns if name != REPEATS)
    frame = frame.selectExpr("*", *(f"{one.value} as {values[name]}" for name, one in read.items()))
    frame = frame.selectExpr("*", f"coalesce({', '.join(found)}) as {_FAULT}")
    slots = {SLOT_OF[name]: value for name, value in values.items()}
    by_business = business_keyed(policies) if policies else None
    if by_business is not None:
        none = "cast(null as string)"
        key, business = slots.get("key", none), slots.get("business", none)
        slots["key"] = f"case when {by_business} then {business} else {key} end"
    slots |= more or {}
    flags = [str(kind)]
    if "interrupting" in values:
        given, no = INTERRUPTING_GIVEN, INTERRUPTING_GIVEN | NOT_INTERRUPTING
        flags.append(f"case {values['interrupting']} when true then {given} when false then {no} else 0 end")
    if REPEATS in frame.columns:
        flags.append(f"if({REPEATS}, {REPEATED}, 0)")
    slots["kind"] = f"cast(if({_FAULT} is null, 1, -1) * ({' + '.join(flags)}) as tinyint)"
    slots["fault"] = (
        f"case when {_FAULT} is not null then concat("
        f"replace({_FAULT}, ':', '\n'), '\n', make_valid_utf8(to_json(struct({own})))) end"
    )
    return frame.selectExpr(*(f"{text} as {quoted(slot)}" for slot, text in slots.items()))


def business_keyed(policies: Policies) -> str | None:
    """Of which names the business id takes the place of the correlation key (policy match); None: of none."""
    usual = policies.default.match == BUSINESS_KEY
    others = [name for name, policy in policies.by_name.items() if (policy.match == BUSINESS_KEY) != usual]
    if not others:
        return "true" if usual else None
    # As hexadecimal digits: a name may hold any character.
    among = f"hex(_conjoin_name) in ({', '.join(repr(name.encode().hex().upper()) for name in others)})"
    return f"not {among}" if usual else among


def in_order(rows: list["DataFrame"], messages: Types, layout: Layout, partitions: int | None) -> "DataFrame":
    """All rows of a correlation key in one partition, one key after the other, each in its order."""
    from pyspark.sql import functions as F

    together = of_one_shape(rows, messages, layout)
    by_key = F.expr(f"xxhash64({KEY})")
    placed = together.repartition(partitions, by_key) if partitions else together.repartition(by_key)
    # The hash decides nearly every comparison of the sort; the rest is only looked at within a key.
    order = F.expr(KEY), "at", F.expr(f"abs(kind) & {KIND}"), "position", "id", F.expr(row_hash(types_of(together)))
    return placed.sortWithinPartitions(by_key, *order)


KEY = "coalesce(`key`, '')"


def row_hash(types: Types) -> str:
    """A position tells rows apart; what has none is told apart by all its columns."""
    return f"case when position is null then xxhash64({', '.join(_hashable(types))}) end"


def of_one_shape(rows: list["DataFrame"], messages: Types, layout: Layout) -> "DataFrame":
    """All rows, with every slot that one of them fills."""
    filled = _ALWAYS | {slot for frame in rows for slot in frame.columns}
    slots: list[Slot] = [slot for slot in SHAPE if slot[0] in filled]
    slots += [(slot, messages[name]) for name, slot in layout.slots.items() if slot.startswith("m_")]
    if layout.prior:
        slots += PRIOR_SLOTS
    shaped = [_shaped(frame, slots) for frame in rows]
    together = shaped[0]
    for frame in shaped[1:]:
        together = together.union(frame)
    return together


def _hashable(types: Types) -> list[str]:
    """The columns of a row that can be hashed: a map or a variant as its text."""
    columns = []
    for name, kind in types.items():
        plain = quoted(name)
        text = kind.simpleString()
        columns.append(f"to_json(struct({plain}))" if "map<" in text or "variant" in text else plain)
    return columns


def _shaped(frame: "DataFrame", slots: Sequence[Slot]) -> "DataFrame":
    have = set(frame.columns)
    shown = ((name, quoted(name) if name in have else "null", _sql(kind)) for name, kind in slots)
    return frame.selectExpr(*(f"cast({value} as {kind}) as {quoted(name)}" for name, value, kind in shown))


def _sql(kind: ColumnType | str) -> str:
    return kind if isinstance(kind, str) else kind.simpleString()
