"""Evaluation: what an expression of SQL is in each row, over Arrow arrays, with the meaning that Spark gives it.

Branches are evaluated for the rows that reach them and no others. A function, a type or a value whose meaning is not
known here for certain raises `NotLocal`; a test compares the others with Spark, on values made to trip them up.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.pipeline.correlate.local import instants, values
from conjoin.pipeline.correlate.local.hashing import xxhash64
from conjoin.pipeline.correlate.local.not_local import NotLocal
from conjoin.pipeline.correlate.local.sql import SqlTree
from conjoin.pipeline.correlate.local.types import ARROW_OF, arrow_of

INSTANT = ARROW_OF["timestamp"]

_UNICODE_SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PATTERNS = {
    r"^[+-]?\d{4}": re.compile(r"^[+-]?[0-9]{4}"),
    r"(Z|:.*[+-]\d{2}(:?\d{2})?)$": re.compile(r"(Z|:.*[+-][0-9]{2}(:?[0-9]{2})?)$"),
    r"(?U)^\s*$": re.compile(f"^[{_UNICODE_SPACE}]*$"),
}
"""Java's regular expressions that rules use, as Python writes them."""


class RowView:
    """Some rows of a table; columns are taken when an expression asks for them."""

    def __init__(self, arrays: dict[str, pa.Array], height: int, rows: np.ndarray | None = None) -> None:
        self._arrays = arrays
        self._rows = rows
        self.height = height if rows is None else len(rows)
        self._taken: dict[str, pa.Array] = {}

    def column(self, name: str) -> pa.Array:
        if self._rows is None:
            return self._arrays[name]
        if name not in self._taken:
            self._taken[name] = self._arrays[name].take(pa.array(self._rows, pa.int64()))
        return self._taken[name]

    def some(self, rows: np.ndarray) -> "RowView":
        """Of these rows, those that are numbered."""
        if len(rows) == self.height:
            return self
        whole = rows if self._rows is None else self._rows[rows]
        return RowView(self._arrays, self.height, whole)


def evaluate(tree: SqlTree, view: RowView) -> pa.Array:
    found = _NODES[tree.what](view, *tree.of)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _literal(view: RowView, value: Any, kind: str) -> pa.Array:
    return pa.nulls(view.height) if value is None else pa.repeat(pa.scalar(value, ARROW_OF[kind]), view.height)


def _case(view: RowView, branches: tuple[tuple[SqlTree, SqlTree], ...], otherwise: SqlTree) -> pa.Array:
    parts, left = [], np.arange(view.height)
    for condition, value in branches:
        holds = pc.fill_null(evaluate(condition, view.some(left)), False).to_numpy(zero_copy_only=False).astype(bool)
        parts.append((left[holds], value))
        left = left[~holds]
    return _merged(view, [*parts, (left, otherwise)])


def _merged(view: RowView, parts: Sequence[tuple[np.ndarray, SqlTree]]) -> pa.Array:
    """Each part is evaluated for its rows."""
    found = [(rows, evaluate(tree, view.some(rows))) for rows, tree in parts if len(rows)]
    return _in_place([rows for rows, _ in found], [array for _, array in found], view.height)


def _in_place(rows: list[np.ndarray], arrays: list[pa.Array], height: int) -> pa.Array:
    if not arrays:
        return pa.nulls(height)
    kind = next((array.type for array in arrays if not pa.types.is_null(array.type)), pa.null())
    together = pa.concat_arrays([array if array.type == kind else array.cast(kind) for array in arrays])
    order = np.empty(height, dtype=np.int64)
    order[np.concatenate(rows)] = np.arange(height)
    return together if len(arrays) == 1 else together.take(pa.array(order))


def _coalesce(view: RowView, *trees: SqlTree) -> pa.Array:
    rows: list[np.ndarray] = []
    arrays, left = [], np.arange(view.height)
    for place, tree in enumerate(trees):
        if not len(left):
            break
        array = evaluate(tree, view.some(left))
        done = array.is_valid().to_numpy(zero_copy_only=False)
        if place == len(trees) - 1:
            done = np.ones(len(left), dtype=bool)
        rows.append(left[done])
        arrays.append(array if done.all() else array.filter(pa.array(done)))
        left = left[~done]
    if len(arrays) == 1 and len(rows[0]) == view.height:
        return arrays[0]
    return _in_place(rows, arrays, view.height)


def _if(view: RowView, condition: SqlTree, one: SqlTree, other: SqlTree) -> pa.Array:
    return _case(view, ((condition, one),), other)


def _cast(view: RowView, tree: SqlTree, kind: str) -> pa.Array:
    array, wanted = evaluate(tree, view), arrow_of(kind)
    if array.type == wanted:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), wanted)
    if wanted == pa.string():
        return as_string(array)
    if pa.types.is_string(array.type):
        return _each(array, _FROM_TEXT[kind], wanted) if kind in _FROM_TEXT else _unknown(array.type, kind)
    if pa.types.is_float64(array.type) and kind == "bigint":
        return _each(array, values.whole_number_in, wanted)
    if pa.types.is_integer(array.type) and (pa.types.is_integer(wanted) or kind == "double"):
        return array.cast(wanted)
    return _unknown(array.type, kind)


_FROM_TEXT: dict[str, Callable[[str], Any]] = {"bigint": values.whole_number_of, "boolean": values.truth_of}


def _unknown(one: object, other: object) -> pa.Array:
    raise NotLocal(f"{one} as {other}")


def _each(array: pa.Array, work: Callable[[Any], Any], kind: pa.DataType) -> pa.Array:
    return pa.array([None if value is None else work(value) for value in array.to_pylist()], kind)


def as_string(array: pa.Array) -> pa.Array:
    """As `cast(... as string)` writes values."""
    kind = array.type
    if pa.types.is_integer(kind):
        return array.cast(pa.string())
    if pa.types.is_boolean(kind):
        return _each(array, lambda value: "true" if value else "false", pa.string())
    if pa.types.is_float64(kind):
        return _each(array, values.fraction_text, pa.string())
    if pa.types.is_date32(kind):
        return _each(array.cast(pa.int32()), instants.day_of, pa.string())
    if kind == ARROW_OF["timestamp_ntz"]:
        return _each(array.cast(pa.int64()), instants.plainly, pa.string())
    return _unknown(kind, "string")


def _compared(compare: Callable[[pa.Array, pa.Array], pa.Array]) -> Callable[..., pa.Array]:
    def node(view: RowView, one: SqlTree, other: SqlTree) -> pa.Array:
        left, right = evaluate(one, view), evaluate(other, view)
        if pa.types.is_floating(left.type) != pa.types.is_floating(right.type):
            left, right = left.cast(pa.float64(), safe=False), right.cast(pa.float64(), safe=False)
        return compare(left, right)

    return node


def _computed(compute: Callable[[pa.Array, pa.Array], pa.Array]) -> Callable[..., pa.Array]:
    return lambda view, one, other: compute(evaluate(one, view), evaluate(other, view))


def _logical(compute: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    return lambda view, *trees: compute(*(evaluate(tree, view).cast(pa.bool_()) for tree in trees))


def _rlike(view: RowView, tree: SqlTree, pattern: SqlTree) -> pa.Array:
    text = pattern.of[0]
    if text not in _PATTERNS:
        raise NotLocal(f"the pattern {text}")
    search = _PATTERNS[text].search
    return _each(evaluate(tree, view), lambda value: search(value) is not None, pa.bool_())


def _endswith(view: RowView, tree: SqlTree, end: SqlTree) -> pa.Array:
    return pc.ends_with(evaluate(tree, view), end.of[0])


def _substring(view: RowView, tree: SqlTree, first: SqlTree, count: SqlTree) -> pa.Array:
    begin = first.of[0] - 1
    return pc.utf8_slice_codeunits(evaluate(tree, view), begin, begin + count.of[0])


def _in(view: RowView, tree: SqlTree, *among: SqlTree) -> pa.Array:
    array = evaluate(tree, view)
    found = pc.is_in(array, value_set=pa.array([it.of[0] for it in among], array.type))
    return pc.if_else(array.is_valid(), found, pa.scalar(None, pa.bool_()))


def _call(view: RowView, name: str, *trees: SqlTree) -> pa.Array:
    if name in _LAZY:
        return _LAZY[name](view, *trees)
    if name == "xxhash64":
        return xxhash64([evaluate(tree, view) for tree in trees], view.height)
    if name == "to_json":
        return _to_json(view, trees[0])
    if name == "from_json":
        return _each(evaluate(trees[0], view), values.list_in, ARROW_OF["array<string>"])
    if name not in _FUNCTIONS:
        raise NotLocal(f"the function {name}")
    arrays = [evaluate(tree, view) for tree in trees]
    if any(pa.types.is_null(array.type) for array in arrays):
        return pa.nulls(view.height)
    return _FUNCTIONS[name](*arrays)


def _to_json(view: RowView, tree: SqlTree) -> pa.Array:
    if tree.what == "call" and tree.of[0] == "struct":
        return _rows_as_json(view, tree.of[1:])
    array = evaluate(tree, view)
    if array.type != ARROW_OF["array<string>"]:
        return _unknown(array.type, "JSON")
    if array.null_count == len(array):
        return pa.nulls(len(array), pa.string())
    return _each(array, values.json_of_list, pa.string())


def _rows_as_json(view: RowView, trees: Sequence[SqlTree]) -> pa.Array:
    """An object for each row, without its nulls."""
    objects: list[list[str]] = [[] for _ in range(view.height)]
    for tree in trees:
        array = evaluate(tree, view)
        name = values.json_string(tree.of[0])
        for parts, text in zip(objects, as_json(array), strict=True):
            if text is not None:
                parts.append(f"{name}:{text}")
    return pa.array([f"{{{','.join(parts)}}}" for parts in objects], pa.string())


def as_json(array: pa.Array, instant: Callable[[int], str] = instants.to_the_millisecond) -> list[str | None]:
    """Each value as JSON writes it."""
    kind = array.type
    write: Callable[[Any], str]
    if pa.types.is_timestamp(kind):
        ntz = kind.tz is None
        array = array.cast(pa.int64())
        write = lambda value: f'"{instant(value)[: -1 if ntz else None]}"'  # noqa: E731
    elif pa.types.is_date32(kind):
        array = array.cast(pa.int32())
        write = lambda value: f'"{instants.day_of(value)}"'  # noqa: E731
    elif pa.types.is_boolean(kind):
        write = lambda value: "true" if value else "false"  # noqa: E731
    elif pa.types.is_integer(kind):
        write = str
    elif pa.types.is_float64(kind):
        write = values.json_of_fraction
    elif pa.types.is_string(kind):
        write = values.json_string
    elif pa.types.is_list(kind):
        write = values.json_of_list
    elif pa.types.is_null(kind):
        write = str
    else:
        raise NotLocal(f"{kind} as JSON")
    return [None if value is None else write(value) for value in array.to_pylist()]


def _concat(*arrays: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*(array.cast(pa.string()) for array in arrays), "")


def _hex(array: pa.Array) -> pa.Array:
    if pa.types.is_string(array.type):
        return _each(array, lambda text: text.encode().hex().upper(), pa.string())
    return _each(array, lambda number: f"{number & (2**64 - 1):X}", pa.string())


def _try_to_timestamp(array: pa.Array) -> pa.Array:
    return _each(array, instants.micros_of, pa.int64()).cast(INSTANT)


def _unix_micros(array: pa.Array) -> pa.Array:
    return array.cast(INSTANT).cast(pa.int64())


def _compacted(array: pa.Array) -> pa.Array:
    return _each(array, lambda texts: [text for text in texts if text is not None], ARROW_OF["array<string>"])


def _as_it_is(array: pa.Array) -> pa.Array:
    """Texts are read as UTF-8 before they come here."""
    return array


def _floor(array: pa.Array) -> pa.Array:
    return _each(pc.floor(array), values.whole_number_in, pa.int64())


def _isnan(array: pa.Array) -> pa.Array:
    return pc.fill_null(pc.is_nan(array), False)


_LAZY: dict[str, Callable[..., pa.Array]] = {
    "coalesce": _coalesce,
    "endswith": _endswith,
    "if": _if,
    "substring": _substring,
}

_FUNCTIONS: dict[str, Callable[..., pa.Array]] = {
    "array_compact": _compacted,
    "concat": _concat,
    "floor": _floor,
    "hex": _hex,
    "isnan": _isnan,
    "length": pc.utf8_length,
    "lower": pc.utf8_lower,
    "make_valid_utf8": _as_it_is,
    "octet_length": pc.binary_length,
    "pmod": lambda array, by: pa.array(np.mod(array.to_numpy(), by.to_numpy())),
    "replace": lambda array, old, new: pc.replace_substring(array, old[0].as_py(), new[0].as_py()),
    "timestamp_micros": lambda array: array.cast(INSTANT),
    "trim": lambda array: pc.utf8_trim(array, " "),
    "try_to_timestamp": _try_to_timestamp,
    "try_validate_utf8": _as_it_is,
    "unix_micros": _unix_micros,
}

_NODES: dict[str, Callable[..., pa.Array]] = {
    "column": lambda view, name: view.column(name),
    "literal": _literal,
    "case": _case,
    "cast": _cast,
    "try_cast": _cast,
    "call": _call,
    "or": _logical(pc.or_kleene),
    "and": _logical(pc.and_kleene),
    "not": _logical(pc.invert),
    "present": lambda view, tree: evaluate(tree, view).is_valid(),
    "missing": lambda view, tree: evaluate(tree, view).is_null(),
    "rlike": _rlike,
    "in": _in,
    "=": _compared(pc.equal),
    "<>": _compared(pc.not_equal),
    ">": _compared(pc.greater),
    "<": _compared(pc.less),
    ">=": _compared(pc.greater_equal),
    "<=": _compared(pc.less_equal),
    "+": _computed(pc.add),
    "*": _computed(pc.multiply),
    "&": _computed(pc.bit_wise_and),
    "negative": lambda view, tree: pc.negate(evaluate(tree, view)),
}
