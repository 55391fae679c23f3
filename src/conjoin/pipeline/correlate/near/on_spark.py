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
from conjoin.kernel.verdicts.similar_keys import folded, forms_of
from conjoin.kernel.verdicts.verdicts import FOR_WANT_OF_RECEIVERS
from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import TABLES, Types, quoted, read_column
from conjoin.pipeline.correlate.fold.rows import DEFAULT_TENANT
from conjoin.pipeline.correlate.near.meeting import MOST_AWAITED, TOLD, FirstWaiting, NearBatch, near_row
from conjoin.pipeline.correlate.results import IDENTITY

_FORMS = "struct<name: string, whole: string, rest: string>"
_OWN = [f"c{number}" for number in range(len(IDENTITY) + len(TOLD))]
"""The columns of a message go by number: their names may be anything."""


def meetings(verdicts: DataFrame, opened: DataFrame, types: Types, policies: Policies) -> DataFrame:
    """A row for each message that may be near to somebody: its columns, its name and key, and who waits."""
    messages = _exploded(_left_over(verdicts, types, policies))
    met = messages.join(_waiting(opened), "form").where("not rest or wholes")
    columns = [F.first(name).alias(name) for name in (*_OWN, "name", "key")]
    return met.groupBy("row").agg(*columns, F.flatten(F.collect_list("waiting")).alias("waiting")).drop("row")


def near_of(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, int]]:
    """What comes of a batch of meetings."""
    found = NearBatch()
    names, keys = batch.column("name").to_pylist(), batch.column("key").to_pylist()
    details = batch.column(_OWN[len(IDENTITY) + TOLD.index("detail")]).to_pylist()
    for row, waiting in enumerate(batch.column("waiting").to_pylist()):
        some = [FirstWaiting(**one) for one in waiting]
        found.add(row, near_row(names[row], keys[row], details[row], some))
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
    few = _exploded(firsts).withColumn("turn", F.row_number().over(within)).where(f"turn <= {MOST_AWAITED}")
    waiting = F.struct(*(f"first.{name}" for name in who), "name", "key")
    # None of them is a whole form: whoever lacks a prefix himself differs in it.
    return few.groupBy("form").agg(F.collect_list(waiting).alias("waiting"), F.expr("not every(rest) as wholes"))


def _exploded(rows: DataFrame) -> DataFrame:
    """A row for each form of its key: `form` is a hash, and `rest` whether it is without its prefix."""
    with_forms = rows.withColumn("forms", _forms()(F.col("name"), F.col("key"))).where("forms.whole <> ''")
    hashes = "xxhash64(tenant, forms.name, forms.{})"
    forms = (
        f"filter(array(struct({hashes.format('whole')} as form, false as rest), "
        f"if(forms.rest is null, null, struct({hashes.format('rest')} as form, true as rest))), x -> x is not null)"
    )
    return with_forms.withColumn("meets", F.explode(F.expr(forms))).select(*rows.columns, "meets.form", "meets.rest")


def _forms() -> Any:
    """Made when it is used: without a session there is none."""

    def forms(names: pa.Array, keys: pa.Array) -> pa.Array:
        texts = {name: folded(name) for name in names.unique().to_pylist()}
        found = [forms_of(key) for key in keys.to_pylist()]
        columns = [
            pa.array([texts[name] for name in names.to_pylist()], pa.string()),
            pa.array([whole for whole, _ in found], pa.string()),
            pa.array([rest for _, rest in found], pa.string()),
        ]
        return pa.StructArray.from_arrays(columns, names=["name", "whole", "rest"])

    return F.arrow_udf(forms, _FORMS)  # type: ignore[call-overload]
