"""Events as rows: every input table becomes rows of one shape, shuffled by correlation key and sorted in time.

Order inside a key: time; within one instant ends, then openings by id, then publications by position. (Closings
travel with their openings.) One row is one row: what cannot be read stays in as a row with a `fault`.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from conjoin.kernel.instants import ALWAYS
from conjoin.pipeline.columns import PRIOR, TABLES, fault_of, has_prior, read_column
from conjoin.pipeline.shape import END, ID, LOCK, OPEN, PRIOR_SLOTS, PUBLISH, SHAPE, SLOT_OF, START, Layout


def layout_of(messages: DataFrame) -> Layout:
    contracts = {contract.name: contract for contract in TABLES["messages"]}
    prior = has_prior(messages)
    ours = [contract.name for contract in PRIOR] if prior else []
    slots = {}
    for name in (field.name for field in messages.schema.fields if field.name not in ours):
        exact = name in contracts and read_column(contracts[name], messages).exact
        slots[name] = SLOT_OF[name] if exact else f"m_{name}"
    return Layout(tuple(slots), slots, prior)


def other_columns(messages: DataFrame) -> list[str]:
    known = {contract.name for contract in (*TABLES["messages"], *PRIOR)}
    return [field.name for field in messages.schema.fields if field.name not in known]


def message_rows(messages: DataFrame, layout: Layout, business_keyed: list[str]) -> DataFrame:
    beside = {slot: F.col(f"`{name}`") for name, slot in layout.slots.items() if slot.startswith("m_")}
    if layout.prior:
        prior = {contract.name: read_column(contract, messages).value for contract in PRIOR}
        beside["kept"] = prior.pop("kept_at")
        prior["decided_at"] = F.timestamp_micros(prior["decided_at"])
        beside |= {f"prior_{name}": column for name, column in prior.items()}
    once = F.lit(None).cast("string")
    if "position" in messages.columns:
        messages, once = _with_repeated_positions(messages)
        beside["repeated"] = F.col("repeated")
    return _rows("messages", messages, PUBLISH, business_keyed, beside, once)


def _with_repeated_positions(messages: DataFrame) -> tuple[DataFrame, Column]:
    """Of the rows that share a position one is kept: exact copies count as one, of others the lowest hash.

    Only the positions go through a shuffle of their own; those that occur twice are few and sent everywhere.
    """
    read = {contract.name: read_column(contract, messages).value for contract in TABLES["messages"]}
    told = F.xxhash64(*(read[name] for name in ("position", "published_at", "correlation_key", "name", "message_id")))
    places = messages.select(read["position"].alias("place"), told.alias("told")).where("place is not null")
    repeated = (
        places.groupBy("place")
        .agg(F.count("*").alias("times"), F.min("told").alias("chosen"))
        .where("times > 1")
        .select("place", "chosen")
    )
    joined = messages.join(F.broadcast(repeated), read["position"] == F.col("place"), "left")
    marked = joined.withColumn("repeated", F.col("chosen") == told)
    fault = F.when(~F.col("repeated"), F.lit("duplicate_position:position"))
    return marked.drop("place", "chosen"), fault


def subscription_rows(subscriptions: DataFrame, business_keyed: list[str]) -> DataFrame:
    """A subscription without ids of its own is named after its row."""
    frame_hash = F.lower(F.hex(F.xxhash64(*_hashable(subscriptions.schema))))
    read = {contract.name: read_column(contract, subscriptions).value for contract in TABLES["subscriptions"]}
    named = {
        SLOT_OF[column]: F.coalesce(read[column], F.concat(F.lit(f"{column[0]}-"), frame_hash))
        for column in ("subscription_id", "instance_id", "element_id")
    }
    return _rows("subscriptions", subscriptions, OPEN, business_keyed, named)


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
    business_keyed: list[str] | None = None,
    more: dict[str, Column] | None = None,
    fault: Column | None = None,
) -> DataFrame:
    read = {contract.name: read_column(contract, frame) for contract in TABLES[table]}
    faults = (fault_of(contract, read[contract.name]) for contract in TABLES[table])
    found = [column for column in (*faults, fault) if column is not None]
    fault = F.coalesce(F.lit(None).cast("string"), *found)
    slots: dict[str, Column] = {SLOT_OF[name]: column.value for name, column in read.items()}
    if business_keyed:
        # Policy match: business_key. The business id takes the place of the correlation key.
        slots["key"] = F.when(slots["name"].isin(business_keyed), slots["business"]).otherwise(slots["key"])
    slots |= more or {}
    slots["kind"] = F.when(fault.isNull(), F.lit(kind)).otherwise(F.lit(-kind)).cast("tinyint")
    slots["fault"] = fault
    slots["raw"] = F.when(fault.isNotNull(), F.to_json(F.struct("*")))
    return frame.select(*(column.alias(slot) for slot, column in slots.items()))


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
        plain = F.col(f"`{field.name}`")
        text = field.dataType.simpleString()
        columns.append(F.to_json(F.struct(plain)) if "map<" in text or "variant" in text else plain)
    return columns


def _shaped(frame: DataFrame, beside: list[tuple[str, T.DataType | str]]) -> DataFrame:
    have = set(frame.columns)
    return frame.select(
        *(
            (F.col(f"`{name}`") if name in have else F.lit(None)).cast(kind).alias(name)
            for name, kind in [*SHAPE, *beside]
        )
    )
