"""Events as rows: every input table becomes rows of one shape, shuffled by correlation key and sorted in time.

Order inside a key: time; within one instant ends, then openings by id, then publications by position. (Closings
travel with their openings.) One row is one row: what cannot be read stays in as a row with a `fault`.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from conjoin.kernel.instants import ALWAYS
from conjoin.kernel.policies import Policies
from conjoin.pipeline.columns import PRIOR, TABLES, fault_of, has_prior, quoted, read_column
from conjoin.pipeline.shape import END, ID, LOCK, OPEN, PRIOR_SLOTS, PUBLISH, SHAPE, SLOT_OF, START, Layout

BUSINESS_KEY = "business_key"

_REPEATED, _PLACE, _CHOSEN, _FAULT = (f"_conjoin_{word}" for word in ("repeated", "place", "chosen", "fault"))


def layout_of(messages: DataFrame, policies: Policies) -> Layout:
    contracts = {contract.name: contract for contract in TABLES["messages"]}
    prior = has_prior(messages)
    ours = [contract.name for contract in PRIOR] if prior else []
    slots = {}
    for number, name in enumerate(name for name in messages.columns if name not in ours):
        exact = name in contracts and read_column(contracts[name], messages).exact
        if name == "correlation_key" and _business_keyed(policies) is not None:
            # Another value may stand in its slot.
            exact = False
        # By number: mapInArrow looks columns up by name, and cannot when a dot or a backtick is in it.
        slots[name] = SLOT_OF[name] if exact else f"m_{number}"
    return Layout(tuple(slots), slots, prior)


def other_columns(messages: DataFrame) -> list[str]:
    known = {contract.name for contract in (*TABLES["messages"], *PRIOR)}
    return [field.name for field in messages.schema.fields if field.name not in known]


def message_rows(messages: DataFrame, layout: Layout, policies: Policies) -> DataFrame:
    beside = {slot: F.col(quoted(name)) for name, slot in layout.slots.items() if slot.startswith("m_")}
    if layout.prior:
        prior = {contract.name: read_column(contract, messages).value for contract in PRIOR}
        beside["kept"] = prior.pop("kept_at")
        prior["decided_at"] = F.timestamp_micros(prior["decided_at"])
        beside |= {f"prior_{name}": column for name, column in prior.items()}
    once = F.lit(None).cast("string")
    if "position" in messages.columns:
        messages, once = _with_repeated_positions(messages)
        beside["repeated"] = F.col(_REPEATED)
    return _rows("messages", messages, PUBLISH, policies, beside, once)


def _with_repeated_positions(messages: DataFrame) -> tuple[DataFrame, Column]:
    """Of the rows that share a position one is kept: exact copies count as one, of others the lowest hash.

    Only the positions go through a shuffle of their own; those that occur twice are few and sent everywhere.
    """
    read = {contract.name: read_column(contract, messages).value for contract in TABLES["messages"]}
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


def subscription_rows(subscriptions: DataFrame, policies: Policies) -> DataFrame:
    """A subscription without ids of its own is named after its row (the hash passes over nulls: told apart here)."""
    columns = _hashable(subscriptions.schema)
    frame_hash = F.lower(F.hex(F.xxhash64(*columns, *(column.isNull() for column in columns))))
    read = {contract.name: read_column(contract, subscriptions).value for contract in TABLES["subscriptions"]}
    named = {
        SLOT_OF[column]: F.coalesce(read[column], F.concat(F.lit(f"{column[0]}-"), frame_hash))
        for column in ("subscription_id", "instance_id", "element_id")
    }
    return _rows("subscriptions", subscriptions, OPEN, policies, named)


def start_rows(starts: DataFrame) -> DataFrame:
    """Only those that cannot be used; the others are told to every partition."""
    return _rows("starts", starts, START).where("fault is not null")


def usable_starts(starts: DataFrame) -> DataFrame:
    return _rows("starts", starts, START).where("fault is null")


def end_rows(ends: DataFrame) -> DataFrame:
    return _rows("ends", ends, END)


def lock_rows(locks: DataFrame) -> DataFrame:
    return _rows("locks", locks, LOCK, more={"at": F.lit(ALWAYS)})


def id_rows(ids: DataFrame) -> DataFrame:
    published = read_column(TABLES["ids"][3], ids).value
    return _rows("ids", ids, ID, more={"at": F.lit(ALWAYS), "kept": published})


def _rows(
    table: str,
    frame: DataFrame,
    kind: int,
    policies: Policies | None = None,
    more: dict[str, Column] | None = None,
    fault: Column | None = None,
) -> DataFrame:
    read = {contract.name: read_column(contract, frame) for contract in TABLES[table]}
    # Those of the two large tables are looked at where each name is read once, in the fold.
    blank = table not in ("messages", "subscriptions")
    # In steps: each value is read once, and the code that Spark makes of a step stays small.
    values = {name: F.col(f"_conjoin_{name}") for name in read}
    presences = {name: one.present for name, one in read.items()}
    faults = (fault_of(contract, values[contract.name], presences[contract.name], blank) for contract in TABLES[table])
    found = [column for column in (*faults, fault) if column is not None]
    fault = F.coalesce(F.lit(None).cast("string"), *found).alias(_FAULT)
    own = [F.col(quoted(name)) for name in frame.columns if name != _REPEATED]
    frame = frame.select("*", *(one.value.alias(f"_conjoin_{name}") for name, one in read.items()))
    frame = frame.select("*", fault)
    slots = {SLOT_OF[name]: value for name, value in values.items()}
    by_business = _business_keyed(policies) if policies else None
    if by_business is not None:
        slots["key"] = F.when(by_business(slots["name"]), slots["business"]).otherwise(slots["key"])
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


def in_order(rows: list[DataFrame], messages: T.StructType, layout: Layout, partitions: int | None) -> DataFrame:
    """All rows of a correlation key in one partition, one key after the other, each in its order."""
    beside: list[tuple[str, T.DataType | str]] = [
        (slot, messages[name].dataType) for name, slot in layout.slots.items() if slot.startswith("m_")
    ]
    if layout.prior:
        beside += PRIOR_SLOTS
    shaped = [_shaped(frame, beside) for frame in rows]
    together = shaped[0]
    for frame in shaped[1:]:
        together = together.union(frame)
    key = F.coalesce("key", F.lit(""))
    by_key = F.xxhash64(key)
    placed = together.repartition(partitions, by_key) if partitions else together.repartition(by_key)
    # The hash decides nearly every comparison of the sort; the rest is only looked at within a key.
    return placed.sortWithinPartitions(
        by_key, key, "at", F.abs("kind"), "position", "id", F.xxhash64(*_hashable(together.schema))
    )


def _hashable(schema: T.StructType) -> list[Column]:
    """The columns of a row that can be hashed: a map or a variant as its text."""
    columns = []
    for field in schema.fields:
        plain = F.col(quoted(field.name))
        text = field.dataType.simpleString()
        columns.append(F.to_json(F.struct(plain)) if "map<" in text or "variant" in text else plain)
    return columns


def _shaped(frame: DataFrame, beside: list[tuple[str, T.DataType | str]]) -> DataFrame:
    have = set(frame.columns)
    return frame.select(
        *(
            (F.col(quoted(name)) if name in have else F.lit(None)).cast(kind).alias(name)
            for name, kind in [*SHAPE, *beside]
        )
    )
