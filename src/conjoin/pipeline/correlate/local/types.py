"""Types by the names that Spark has for them, and the Arrow types that hold their values."""

from dataclasses import dataclass

import pyarrow as pa

from conjoin.pipeline.correlate.local.not_local import NotLocal

ARROW_OF: dict[str, pa.DataType] = {
    "void": pa.null(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "array<string>": pa.list_(pa.string()),
}
_NAMES = {kind: name for name, kind in ARROW_OF.items()}


@dataclass(frozen=True, slots=True)
class LocalType:
    """Stands for a type of Spark."""

    name: str

    def simpleString(self) -> str:  # noqa: N802 - as Spark calls it
        return self.name


def arrow_of(name: str) -> pa.DataType:
    if name not in ARROW_OF:
        raise NotLocal(f"a column of type {name}")
    return ARROW_OF[name]


def type_of(kind: pa.DataType) -> LocalType:
    if kind not in _NAMES:
        raise NotLocal(f"a column of type {kind}")
    return LocalType(_NAMES[kind])
