"""Variables: which texts are the variables of a message, looked over and not kept."""

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MOST_VARIABLES_BYTES = 4 * 1024 * 1024

_LINES, _FEW_LINES = 1_000, 16


class _Object(msgspec.Struct):
    """Any JSON object: what is in it is looked over and not kept."""


_decoder = msgspec.json.Decoder(_Object)
_NO_OBJECT = (msgspec.DecodeError, UnicodeEncodeError, RecursionError)
"""What the decoder raises where a text is no JSON object."""


def problem_of_variables(variables: str) -> str | None:
    """Why a text is not the variables of a message; None when it is."""
    if len(variables) > MOST_VARIABLES_BYTES:
        return "too_large"
    try:
        _decoder.decode(variables)
    except _NO_OBJECT:
        return "bad_variables"
    return None


def leave_out_bad_variables(column: pa.Array | None, publish: np.ndarray, ordinary: np.ndarray) -> None:
    """Read many lines at once, at the speed of the reader; what fails there is looked at in halves, then row by row.

    A text without a line break that begins with { and ends with } can be no part of an object of several lines, and is
    one object or more: so many lines that are so many objects are one object each.
    """
    if column is None:
        return
    lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy()
    if lengths.max(initial=0) > MOST_VARIABLES_BYTES:
        ordinary &= lengths <= MOST_VARIABLES_BYTES
    rows = np.flatnonzero(publish & ordinary & column.is_valid().to_numpy(zero_copy_only=False))
    likely = _are_likely_objects(column)[rows]
    for row in rows[~likely].tolist():
        ordinary[row] = problem_of_variables(column[row].as_py()) is None
    rows = rows[likely]
    texts = column.take(pa.array(rows))
    lines = pc.binary_join_element_wise(texts.cast(pa.binary()), b"\n", b"").buffers()
    ends = np.frombuffer(lines[1], dtype=np.int32)
    whole = memoryview(lines[2]) if lines[2] is not None else memoryview(b"")
    parts = [(start, min(start + _LINES, len(rows))) for start in range(0, len(rows), _LINES)]
    while parts:
        start, end = parts.pop()
        if not _are_objects(whole[ends[start] : ends[end]], end - start):
            if end - start > _FEW_LINES:
                middle = (start + end) // 2
                parts += [(start, middle), (middle, end)]
                continue
            for row, text in zip(rows[start:end].tolist(), texts[start:end].to_pylist(), strict=True):
                ordinary[row] = problem_of_variables(text) is None


def _are_likely_objects(column: pa.Array) -> np.ndarray:
    """Which texts begin with {, end with } and have no line break between."""
    _, offsets, content = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    octets = np.frombuffer(content, dtype=np.uint8) if content else np.array([0], np.uint8)
    last = max(len(octets) - 1, 0)
    likely = (octets[np.minimum(bounds[:-1], last)] == ord("{")) & (octets[np.maximum(bounds[1:] - 1, 0)] == ord("}"))
    # What stands there is its neighbours' where a text is empty.
    likely &= bounds[1:] > bounds[:-1]
    breaks = np.flatnonzero(octets == ord("\n"))
    if len(breaks):
        likely &= np.searchsorted(breaks, bounds[:-1]) == np.searchsorted(breaks, bounds[1:])
    return likely


def _are_objects(lines: memoryview, count: int) -> bool:
    try:
        return len(_decoder.decode_lines(lines)) == count
    except _NO_OBJECT:
        return False
