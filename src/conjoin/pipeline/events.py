"""Events as rows: every input table becomes rows of one shape, shuffled by correlation key and sorted in time.

Order inside a key: time; within one instant ends, then openings by id, then publications by position. (Closings
travel with their openings.) One row is one row: what cannot be read stays in as a row with a `fault`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from conjoin.kernel.instants import ALWAYS
from conjoin.kernel.policies import Policies
from conjoin.pipeline.columns import PRIOR, TABLES, Types, fault_of, has_prior, quoted, read_column, types_of
from conjoin.pipeline.shape import END, ID, LOCK, OPEN, PRIOR_SLOTS, PUBLISH, SHAPE, SLOT_OF, START, Layout

BUSINESS_KEY = "business_key"

Slot = tuple[str, T.DataType | str]

_ALWAYS = {"key", "position", "id"}
"""The order is by these, whatever the tables hold."""

_REPEATED, _PLACE, _CHOSEN, _FAULT = (f"_conjoin_{word}" for word in ("repeated", "place", "chosen", "fault"))


class Source(NamedTuple):
    """An input table: its name, its rows, and the types of its columns."""

    table: str
    frame: DataFrame
    types: Types


def layout_of(messages: Types, policies: Policies) -> Layout:
    contracts = {contract.name: contract for contract in TABLES["messages"]}
    prior = has_prior(messages)
    ours = [contract.name for contract in PRIOR] if prior else []
    slots = {}
    for number, name in enumerate(name for name in messages if name not in ours):
        exact = name in contracts and read_column(contracts[name], messages).exact
        if name == "correlation_key" and _business_keyed(policies) is not None:
            # Another value may stand in its slot.
            exact = False
        # By number: mapInArrow looks columns up by name, and cannot when a dot or a backtick is in it.
        slots[name] = SLOT_OF[name] if exact else f"m_{number}"
    return Layout(tuple(slots), slots, prior)


def other_columns(messages: Types) -> list[str]:
    known = {contract.name for contract in (*TABLES["messages"], *PRIOR)}
    return [name for name in messages if name not in known]


def message_rows(messages: DataFrame, types: Types, layout: Layout, policies: Policies) -> DataFrame:
    beside = {slot: F.col(quoted(name)) for name, slot in layout.slots.items() if slot.startswith("m_")}
    if layout.prior:
        prior = {contract.name: read_column(contract, types).value for contract in PRIOR}
        beside["kept"] = prior.pop("kept_at")
        prior["decided_at"] = F.timestamp_micros(prior["decided_at"])
        beside |= {f"prior_{name}": column for name, column in prior.items()}
    once = F.lit(None).cast("string")
    if "position" in types:
        messages, once = _with_repeated_positions(messages, types)
        beside["repeated"] = F.col(_REPEATED)
    return _rows(Source("messages", messages, types), PUBLISH, policies, beside, once)


def _with_repeated_positions(messages: DataFrame, types: Types) -> tuple[DataFrame, Column]:
    """Of the rows that share a position one is kept: exact copies count as one, of others the lowest hash.

    Only the positions go through a shuffle of their own; those that occur twice are few and sent everywhere.
    """
    read = {contract.name: read_column(contract, types).value for contract in TABLES["messages"]}
    # The hash passes over nulls: without a text in their place, one column could be taken for another.
    texts = [F.coalesce(read[name], F.lit("")) for name in ("correlation_key", "name", "message_id")]
    told = F.xxhash64(read["position"], read["published_at"], *texts)
    places = messages.select(read["position"].alias(_PLACE), told.alias("told")).where(F.col(_PLACE).isNotNull())
    repeated = (
        places.groupBy(_PLACE)
        .agg(F.count("*").alias("times"), F.min("told").alias(_CHOSEN))
        .where("times > 1")
        .select(_PLACE, _CHOSEN)
    )
    joined = messages.join(F.broadcast(repeated), read["position"] == F.col(_PLACE), "left")
    marked = joined.withColumn(_REPEATED, F.col(_CHOSEN) == told)
    fault = F.when(~F.col(_REPEATED), F.lit("duplicate_position:position"))
    return marked.drop(_PLACE, _CHOSEN), fault


def subscription_rows(subscriptions: DataFrame, types: Types, policies: Policies) -> DataFrame:
    """A subscription without ids of its own is named after its row (the hash passes over nulls: told apart here)."""
    columns = _hashable(types)
    frame_hash = F.lower(F.hex(F.xxhash64(*columns, *(column.isNull() for column in columns))))
    read = {contract.name: read_column(contract, types).value for contract in TABLES["subscriptions"]}
    named = {
        SLOT_OF[column]: F.coalesce(read[column], F.concat(F.lit(f"{column[0]}-"), frame_hash))
        for column in ("subscription_id", "instance_id", "element_id")
    }
    return _rows(Source("subscriptions", subscriptions, types), OPEN, policies, named)


def start_rows(starts: DataFrame, types: Types) -> DataFrame:
    """Only those that cannot be used; the others are told to every partition."""
    return _rows(Source("starts", starts, types), START).where("fault is not null")


def usable_starts(starts: DataFrame) -> DataFrame:
    """With every slot that tells of a start, be it empty."""
    rows = _rows(Source("starts", starts, types_of(starts)), START).where("fault is null")
    return _shaped(rows, [slot for slot in SHAPE if slot[0] in SLOT_OF.values()])


def end_rows(ends: DataFrame, types: Types) -> DataFrame:
    return _rows(Source("ends", ends, types), END)


def lock_rows(locks: DataFrame, types: Types) -> DataFrame:
    return _rows(Source("locks", locks, types), LOCK, more={"at": F.lit(ALWAYS)})


def id_rows(ids: DataFrame, types: Types) -> DataFrame:
    published = read_column(TABLES["ids"][3], types).value
    return _rows(Source("ids", ids, types), ID, more={"at": F.lit(ALWAYS), "kept": published})


def _rows(
    source: Source,
    kind: int,
    policies: Policies | None = None,
    more: dict[str, Column] | None = None,
    fault: Column | None = None,
) -> DataFrame:
    table, frame, types = source
    present = [contract for contract in TABLES[table] if contract.name in types]
    read = {contract.name: read_column(contract, types) for contract in present}
    # Those of the two large tables are looked at where each name is read once, in the fold.
    blank = table not in ("messages", "subscriptions")
    # In steps: each value is read once, and the code that Spark makes of a step stays small.
    values = {name: F.col(f"_conjoin_{name}") for name in read}
    presences = {name: one.present for name, one in read.items()}
    faults = (fault_of(contract, values[contract.name], presences[contract.name], blank) for contract in present)
    found = [column for column in (*faults, fault) if column is not None]
    fault = F.coalesce(F.lit(None).cast("string"), *found).alias(_FAULT)
    own = [F.col(quoted(name)) for name in frame.columns if name != _REPEATED]
    frame = frame.select("*", *(one.value.alias(f"_conjoin_{name}") for name, one in read.items()))
    frame = frame.select("*", fault)
    slots = {SLOT_OF[name]: value for name, value in values.items()}
    by_business = _business_keyed(policies) if policies else None
    if by_business is not None:
        none = F.lit(None).cast("string")
        key, business = slots.get("key", none), slots.get("business", none)
        slots["key"] = F.when(by_business(slots["name"]), business).otherwise(key)
    slots |= more or {}
    fault = F.col(_FAULT)
    slots["kind"] = F.when(fault.isNull(), F.lit(kind)).otherwise(F.lit(-kind)).cast("tinyint")
    slots["fault"] = fault
    slots["raw"] = F.when(fault.isNotNull(), F.make_valid_utf8(F.to_json(F.struct(*own))))
    return frame.select(*(column.alias(slot) for slot, column in slots.items()))


def _business_keyed(policies: Policies) -> Callable[[Column], Column] | None:
    """Of which names the business id takes the place of the correlation key (policy match); None: of none."""
    usual = policies.default.match == BUSINESS_KEY
    others = [name for name, policy in policies.by_name.items() if (policy.match == BUSINESS_KEY) != usual]
    if usual:
        return lambda name: ~name.isin(others)
    return (lambda name: name.isin(others)) if others else None


def in_order(rows: list[DataFrame], messages: Types, layout: Layout, partitions: int | None) -> DataFrame:
    """All rows of a correlation key in one partition, one key after the other, each in its order."""
    filled = _ALWAYS | {slot for frame in rows for slot in frame.columns}
    slots: list[Slot] = [slot for slot in SHAPE if slot[0] in filled]
    slots += [(slot, messages[name]) for name, slot in layout.slots.items() if slot.startswith("m_")]
    if layout.prior:
        slots += PRIOR_SLOTS
    shaped = [_shaped(frame, slots) for frame in rows]
    together = shaped[0]
    for frame in shaped[1:]:
        together = together.union(frame)
    key = F.coalesce("key", F.lit(""))
    by_key = F.xxhash64(key)
    placed = together.repartition(partitions, by_key) if partitions else together.repartition(by_key)
    # A position tells rows apart; what has none is told apart by all its columns.
    whole = F.when(F.col("position").isNull(), F.xxhash64(*_hashable(types_of(together))))
    # The hash decides nearly every comparison of the sort; the rest is only looked at within a key.
    return placed.sortWithinPartitions(by_key, key, "at", F.abs("kind"), "position", "id", whole)


def _hashable(types: Types) -> list[Column]:
    """The columns of a row that can be hashed: a map or a variant as its text."""
    columns = []
    for name, kind in types.items():
        plain = F.col(quoted(name))
        text = kind.simpleString()
        columns.append(F.to_json(F.struct(plain)) if "map<" in text or "variant" in text else plain)
    return columns


def _shaped(frame: DataFrame, slots: Sequence[Slot]) -> DataFrame:
    """As text: every column built by a call is a dozen round trips to Spark."""
    have = set(frame.columns)
    shown = ((name, quoted(name) if name in have else "null", _sql(kind)) for name, kind in slots)
    return frame.selectExpr(*(f"cast({value} as {kind}) as {quoted(name)}" for name, value, kind in shown))


def _sql(kind: T.DataType | str) -> str:
    return kind if isinstance(kind, str) else kind.simpleString()
