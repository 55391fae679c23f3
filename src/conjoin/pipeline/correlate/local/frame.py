"""LocalFrame: a table in memory that takes the same SQL texts as a DataFrame of Spark takes.

What the rules of reading use of a DataFrame has the same names here: `selectExpr`, `where`, `union`, `schema`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.pipeline.correlate.local.evaluation import RowView, evaluate
from conjoin.pipeline.correlate.local.sql import STAR, parse
from conjoin.pipeline.correlate.local.types import LocalType, type_of


class LocalField(NamedTuple):
    name: str
    dataType: LocalType  # noqa: N815 - as Spark calls it


class LocalSchema(NamedTuple):
    fields: list[LocalField]


@dataclass(frozen=True)
class LocalFrame:
    """Columns by name, each with `height` values."""

    arrays: dict[str, pa.Array]
    height: int

    @property
    def columns(self) -> list[str]:
        return list(self.arrays)

    @cached_property
    def schema(self) -> LocalSchema:
        return LocalSchema([LocalField(name, type_of(array.type)) for name, array in self.arrays.items()])

    def value(self, text: str) -> pa.Array:
        """What an expression is in each row."""
        return evaluate(parse(text)[0], RowView(self.arrays, self.height))

    def selectExpr(self, *texts: str) -> "LocalFrame":  # noqa: N802 - as Spark calls it
        view = RowView(self.arrays, self.height)
        chosen: dict[str, pa.Array] = {}
        for text in texts:
            tree, name = parse(text)
            if tree is STAR:
                chosen |= self.arrays
            else:
                assert name is not None, text
                chosen[name] = evaluate(tree, view)
        return LocalFrame(chosen, self.height)

    def where(self, text: str) -> "LocalFrame":
        return self.taken(np.flatnonzero(pc.fill_null(self.value(text), False).to_numpy(zero_copy_only=False)))

    def named(self, columns: list[str]) -> "LocalFrame":
        return LocalFrame(dict(zip(columns, self.arrays.values(), strict=True)), self.height)

    def taken(self, rows: np.ndarray) -> "LocalFrame":
        picked = pa.array(rows, pa.int64())
        return LocalFrame({name: array.take(picked) for name, array in self.arrays.items()}, len(rows))

    def union(self, other: "LocalFrame") -> "LocalFrame":
        """By place, as in SQL; the types are the same."""
        pairs = zip(self.arrays.items(), other.arrays.values(), strict=True)
        return LocalFrame(
            {name: pa.concat_arrays([one, two]) for (name, one), two in pairs}, self.height + other.height
        )

    def batch(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(list(self.arrays.values()), names=list(self.arrays))
