"""Filters over the columns of a batch, for what the store could not be asked for."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from conjoin.pipeline.source.filters import column_of

_COMPARE: dict[type[Filter], Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    EqualTo: pc.equal,
    GreaterThan: pc.greater,
    GreaterThanOrEqual: pc.greater_equal,
    LessThan: pc.less,
    LessThanOrEqual: pc.less_equal,
}


def mask_of(filters: Iterable[Filter], arrays: Mapping[str, pa.Array]) -> pa.Array:
    """Which rows pass all of them; null is no."""
    return reduce(pc.and_, [_mask(it, arrays[column_of(it)]) for it in filters])


def _mask(it: Any, values: pa.Array) -> pa.Array:
    if isinstance(it, IsNull):
        return pc.is_null(values)
    if isinstance(it, IsNotNull):
        return pc.is_valid(values)
    if isinstance(it, In):
        wanted = pa.array(it.value)
        return pc.is_in(values.cast(wanted.type), wanted)
    if isinstance(it, Not):
        return pc.invert(_mask(it.child, values))
    return _COMPARE[type(it)](values, pa.scalar(it.value))
