"""xxhash64 as Spark has it: XXH64 over the values of a row, each seeded with the hash of those before; no nulls.

Ids of rows without ids, and the order of rows that nothing else tells apart, come from it.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from conjoin.pipeline.correlate.local.not_local import NotLocal

_SEED = 42
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_STRIPE = 32
_WORD = (1 << 64) - 1
Words = np.ndarray


def xxhash64(columns: Sequence[pa.Array], rows: int, seed: int = _SEED) -> pa.Array:
    """A signed number of 64 bits for each row; `seed`: the hash of what comes before these columns."""
    hashes = np.full(rows, seed & _WORD, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
            if len(present):
                some = column if len(present) == rows else column.take(pa.array(present))
                hashes[present] = _of_column(some, hashes[present])
    return pa.array(hashes.view(np.int64))


def _of_column(column: pa.Array, seeds: Words) -> Words:
    """None of the values is null."""
    kind = column.type
    if pa.types.is_string(kind):
        return _of_texts(column, seeds)
    if pa.types.is_boolean(kind):
        return _of_bytes(column.cast(pa.int32()).to_numpy().view(np.uint8).reshape(-1, 4), seeds)
    if pa.types.is_int8(kind) or pa.types.is_int16(kind):
        column = column.cast(pa.int32())
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    if pa.types.is_list(kind):
        return _of_lists(column, seeds)
    if pa.types.is_float64(kind):
        # One zero, one value that is no number, as Java has them.
        values = column.to_numpy() + 0.0
        values[np.isnan(values)] = np.nan
        return _of_bytes(values.view(np.uint8).reshape(-1, 8), seeds)
    if not pa.types.is_integer(column.type):
        raise NotLocal(f"a value of type {kind}")
    octets = np.ascontiguousarray(column.to_numpy())
    return _of_bytes(octets.view(np.uint8).reshape(len(column), -1), seeds)


def _of_lists(column: pa.Array, seeds: Words) -> Words:
    hashes = seeds.copy()
    for row, values in enumerate(column):
        texts = pa.array([value for value in values.as_py() if value is not None], pa.string())
        for place in range(len(texts)):
            hashes[row : row + 1] = _of_texts(texts.slice(place, 1), hashes[row : row + 1])
    return hashes


def _of_texts(column: pa.Array, seeds: Words) -> Words:
    _, offsets_buffer, data = column.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int32)[column.offset : column.offset + len(column) + 1].astype(int)
    octets = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, np.uint8)
    lengths = np.diff(offsets)
    hashes = np.empty(len(column), dtype=np.uint64)
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        matrix = octets[offsets[rows][:, None] + np.arange(length)]
        hashes[rows] = _of_bytes(matrix, seeds[rows])
    return hashes


def _of_bytes(matrix: np.ndarray, seeds: Words) -> Words:
    """One row of the matrix is the octets of a value."""
    length = matrix.shape[1]
    at = 0
    if length >= _STRIPE:
        hashes, at = _of_stripes(matrix, seeds)
    else:
        hashes = seeds + _P5
    hashes = hashes + np.uint64(length)
    for place in range(at, length - 7, 8):
        word = _words(matrix, place, 8)
        hashes = _rotated(hashes ^ (_rotated(word * _P2, 31) * _P1), 27) * _P1 + _P4
    at = length - length % 8
    if length - at >= 4:
        hashes = _rotated(hashes ^ (_words(matrix, at, 4) * _P1), 23) * _P2 + _P3
        at += 4
    for place in range(at, length):
        hashes = _rotated(hashes ^ (matrix[:, place].astype(np.uint64) * _P5), 11) * _P1
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _P2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _P3
    return hashes ^ (hashes >> np.uint64(32))


def _of_stripes(matrix: np.ndarray, seeds: Words) -> tuple[Words, int]:
    lanes: list[Words] = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
    at = 0
    while at <= matrix.shape[1] - _STRIPE:
        for number in range(4):
            lanes[number] = _rotated(lanes[number] + _words(matrix, at + 8 * number, 8) * _P2, 31) * _P1
        at += _STRIPE
    hashes: Words = _rotated(lanes[0], 1)
    for number, turn in ((1, 7), (2, 12), (3, 18)):
        hashes = hashes + _rotated(lanes[number], turn)
    for lane in lanes:
        hashes = (hashes ^ (_rotated(lane * _P2, 31) * _P1)) * _P1 + _P4
    return hashes, at


def _words(matrix: np.ndarray, at: int, size: int) -> Words:
    kind = np.uint64 if size == 8 else np.uint32
    return np.ascontiguousarray(matrix[:, at : at + size]).view(kind).reshape(-1).astype(np.uint64)


def _rotated(words: Words, bits: int) -> Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
