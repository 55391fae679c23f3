"""Near misses as a plan of Spark: rows meet by equality, and no message meets more than a few.

Of those who wait each name and key is one row, however many wait with it, and of one form a few keys are kept; so a
message finds at most two rows, and a crowded key costs what its messages cost. Nothing is collected; what is broadcast
Spark bounds by itself.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from conjoin.kernel.policies import Policies
from conjoin.kernel.verdicts.similar_keys import folded
from conjoin.kernel.verdicts.verdicts import FOR_WANT_OF_RECEIVERS
from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import TABLES, Types, quoted, read_column
from conjoin.pipeline.correlate.fold.rows import DEFAULT_TENANT
from conjoin.pipeline.correlate.near.meeting import (
    ANYWHERE,
    MOST_AWAITED,
    TOLD,
    FirstWaiting,
    Left,
    NearBatch,
    met_by,
    near_row,
)
from conjoin.pipeline.correlate.results import IDENTITY, INSTANT

_FORMS = "struct<name: string, same: array<string>, rest: string>"
_OWN = [f"c{number}" for number in range(len(IDENTITY) + len(TOLD))]
"""The columns of a message go by number: their names may be anything."""
_MEETING = ("tenant", "name", "key")


def meetings(verdicts: DataFrame, opened: DataFrame, types: Types, policies: Policies) -> DataFrame:
    """A row for each message that may be near to somebody: its columns, its name and key, and who waits."""
    messages = _exploded(_left_over(verdicts, types, policies), sent=True)
    met = messages.join(_waiting(opened), "form").where("not rest or wholes")
    columns = [F.first(name).alias(name) for name in (*_OWN, *_MEETING)]
    return met.groupBy("row").agg(*columns, F.flatten(F.collect_list("waiting")).alias("waiting")).drop("row")


def near_of(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, int]]:
    """What comes of a batch of meetings."""
    found = NearBatch()
    told = {name: batch.column(_OWN[len(IDENTITY) + TOLD.index(name)]) for name in TOLD}
    decided_at = told["decided_at"].cast(INSTANT).cast(pa.int64())
    about = [batch.column(name) for name in _MEETING] + [told["reason"], decided_at, told["detail"]]
    left = map(Left._make, zip(*(column.to_pylist() for column in about), strict=True))
    for row, (one, waiting) in enumerate(zip(left, batch.column("waiting").to_pylist(), strict=True)):
        found.add(row, near_row(one, [FirstWaiting(**it) for it in waiting]))
    own = {name: batch.column(slot) for name, slot in zip((*IDENTITY, *TOLD), _OWN, strict=True)}
    return found.finished(own), found.counts


def lazily(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        near, _ = near_of(batch)
        yield near.rename_columns([f"c{number}" for number in range(near.num_columns)])


def _left_over(verdicts: DataFrame, types: Types, policies: Policies) -> DataFrame:
    own = [quoted(name) if name in types else f"cast(null as {kind})" for name, kind in _IDENTITY.items()]
    numbered = [f"{column} as {slot}" for column, slot in zip([*own, *TOLD], _OWN, strict=True)]
    read = {contract.name: read_column(contract, types).value for contract in TABLES["messages"]}
    by_business = events.business_keyed(policies)
    key = f"coalesce({read['correlation_key']}, '')"
    if by_business is not None:
        key = f"case when {by_business} then coalesce({read['business_id']}, '') else {key} end"
    tenant = f"coalesce({read['tenant_id']}, '{DEFAULT_TENANT}')"
    reasons = ", ".join(f"'{reason}'" for reason in sorted(FOR_WANT_OF_RECEIVERS))
    left = verdicts.where(f"reason in ({reasons})").selectExpr("*", f"{read['name']} as _conjoin_name")
    named = left.selectExpr(*numbered, "_conjoin_name as name", f"{key} as key", f"{tenant} as tenant")
    return named.where("key <> ''").withColumn("row", F.monotonically_increasing_id())


_IDENTITY = {name: "bigint" if kind == "number" else "string" for name, kind in IDENTITY.items()}


def _waiting(opened: DataFrame) -> DataFrame:
    """By form: the first few keys of it, each with the first who waits."""
    who = ["opened_at", "subscription_id", "process_id", "instance_id", "element_id"]
    tenant = F.coalesce("tenant_id", F.lit(DEFAULT_TENANT)).alias("tenant")
    key = F.coalesce("correlation_key", F.lit("")).alias("key")
    keyed = opened.select(tenant, "name", key, F.unix_micros("opened_at").alias("opened_at"), *who[1:])
    firsts = keyed.where("key <> ''").groupBy("tenant", "name", "key").agg(F.min(F.struct(*who)).alias("first"))
    within = Window.partitionBy("form").orderBy("rest", "first", "name", "key")
    few = _exploded(firsts, sent=False).withColumn("turn", F.row_number().over(within)).where(f"turn <= {MOST_AWAITED}")
    waiting = F.struct(*(f"first.{name}" for name in who), "name", "key", "tenant")
    # None of them is a whole form: whoever lacks a prefix himself differs in it.
    return few.groupBy("form").agg(F.collect_list(waiting).alias("waiting"), F.expr("not every(rest) as wholes"))


def _exploded(rows: DataFrame, sent: bool) -> DataFrame:
    """A row for each form of its key: `form` is a hash, and `rest` whether it is without its prefix."""
    with_forms = rows.withColumn("forms", _forms(sent)(F.col("name"), F.col("key"))).where("size(forms.same) > 0")
    same = "transform(forms.same, it -> struct(xxhash64(tenant, forms.name, it) as form, false as rest))"
    rest = "array(struct(xxhash64(tenant, forms.name, forms.rest) as form, true as rest))"
    anywhere = f"array(struct(xxhash64('{ANYWHERE}', name, key) as form, false as rest))"
    none = "cast(array() as array<struct<form: bigint, rest: boolean>>)"
    forms = f"concat({same}, if(forms.rest is null, {none}, {rest}), {anywhere})"
    return with_forms.withColumn("meets", F.explode(F.expr(forms))).select(*rows.columns, "meets.form", "meets.rest")


def _forms(sent: bool) -> Any:
    """Made when it is used: without a session there is none."""

    def forms(names: pa.Array, keys: pa.Array) -> pa.Array:
        texts = {name: folded(name) for name in names.unique().to_pylist()}
        found = [met_by(key, sent) for key in keys.to_pylist()]
        columns = [
            pa.array([texts[name] for name in names.to_pylist()], pa.string()),
            pa.array([it.same for it in found], pa.list_(pa.string())),
            pa.array([it.rest for it in found], pa.string()),
        ]
        return pa.StructArray.from_arrays(columns, names=["name", "same", "rest"])

    return F.arrow_udf(forms, _FORMS)  # type: ignore[call-overload]
