"""Traits: what the rules can tell of a single row, as one number a row, for a whole batch at once."""

from collections import deque
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.kernel.correlation.messages import deadline_of
from conjoin.kernel.instants import NEVER
from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate.fold.row_buffers import LAST_DAY
from conjoin.pipeline.correlate.fold.rows import (
    DEFAULT_TENANT,
    MOST_VARIABLES_BYTES,
    NO_OBJECT,
    filled,
    problem_of_variables,
    read_object,
)
from conjoin.pipeline.correlate.shape import END, OPEN, PUBLISH

_KIND, _KIND_BITS = 0, 3
_NOT_INTERRUPTING, _NO_END, _NO_ELEMENT, _NO_ID, _NO_BUSINESS, _NO_INSTANCE, _NO_KEY = range(3, 10)
_NAME, _PROCESS, _WORD_BITS = 10, 30, 20
_TENANT, _TENANT_BITS = 50, 13

_SLICE = 200
_NEEDS_ESCAPE = '["\\\\\\x00-\\x1f]'


class Words:
    """Texts that repeat, by number; None is 0. A number stays with its text for the whole partition."""

    def __init__(self, bits: int) -> None:
        self.texts: list[str | None] = [None]
        self._most = 1 << bits
        self._numbers: dict[str | None, int] = {None: 0}

    def read(self, column: pa.Array | None, default: str | None, count: int) -> tuple[np.ndarray, bool]:
        """The number of each row's text (a blank one is none), and whether there was room for all of them."""
        if column is None:
            return np.full(count, self._number(default), dtype=np.int64), True
        encoded = column.dictionary_encode()
        texts = [text if text and not text.isspace() else default for text in encoded.dictionary.to_pylist()]
        numbers = np.array([*map(self._number, texts), self._number(default)], dtype=np.int64)
        places = pc.fill_null(encoded.indices, len(texts)).to_numpy()
        return numbers[places], len(self.texts) <= self._most

    def _number(self, text: str | None) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number


class Traits:
    """Of a batch: `code` and the instants of each row, and which rows are ordinary enough to be compared."""

    def __init__(self, batch: pa.RecordBatch, words: Words, tenants: Words, policies: Policies) -> None:
        count = batch.num_rows
        self.kind = batch.column("kind").to_numpy().astype(np.int64)
        self.at = numbers_of(batch, "at", 0)
        self.id = filled(batch, "id")
        self.business = filled(batch, "business")
        names, room = words.read(filled(batch, "name"), None, count)
        processes, more_room = words.read(filled(batch, "process"), None, count)
        of_tenants, enough_room = tenants.read(filled(batch, "tenant"), DEFAULT_TENANT, count)
        publish, opens, ends = (self.kind == kind for kind in (PUBLISH, OPEN, END))
        self.until = numbers_of(batch, "until", NEVER)
        self.until[publish] = _deadlines(batch, publish, self.at, names, words, policies)
        self.code = (
            self.kind | names << _NAME | processes << _PROCESS | of_tenants << _TENANT | self._flags(batch, opens)
        )
        known = (publish & (names > 0)) | (opens & (names > 0) & (processes > 0)) | (ends & (processes > 0))
        self.ordinary = known & (room and more_room and enough_room)
        for slot in ("taken_by", "kept"):
            column = filled(batch, slot)
            if column is not None:
                self.ordinary &= column.is_null().to_numpy(zero_copy_only=False)
        self.ordinary &= ~_truths(batch, "repeated", True)
        # Beyond the calendar an instant is written as its end, which is no longer a comparison.
        self.ordinary &= (self.until <= LAST_DAY) | (self.until == NEVER)
        self.ordinary &= ~opens | (self.code >> _NO_ID & 1 == 0)
        for slot in ("key", "id", "instance", "element", "business"):
            self.ordinary &= _are_written_as_they_are(filled(batch, slot), count)
        blank = filled(batch, "element")
        if blank is not None:
            self.ordinary &= ~_is_blank(blank)
        _leave_out_bad_variables(filled(batch, "variables"), publish, self.ordinary)

    def _flags(self, batch: pa.RecordBatch, opens: np.ndarray) -> np.ndarray:
        flags = _truths(batch, "interrupting", False).astype(np.int64) << _NOT_INTERRUPTING
        flags |= (opens & _nulls(batch, "until")).astype(np.int64) << _NO_END
        for slot, bit in (
            ("element", _NO_ELEMENT),
            ("id", _NO_ID),
            ("business", _NO_BUSINESS),
            ("instance", _NO_INSTANCE),
            ("key", _NO_KEY),
        ):
            missing = _nulls(batch, slot)
            if slot in ("id", "business", "key"):
                missing = missing | _are_empty(batch, slot)
            flags |= missing.astype(np.int64) << bit
        return flags


class Trait:
    """The code of one row, read back."""

    def __init__(self, code: int, words: Words, tenants: Words) -> None:
        self.kind = code & (1 << _KIND_BITS) - 1
        self.interrupting = not code >> _NOT_INTERRUPTING & 1
        self.has_end = not code >> _NO_END & 1
        self.has_element = not code >> _NO_ELEMENT & 1
        self.has_id = not code >> _NO_ID & 1
        self.has_business = not code >> _NO_BUSINESS & 1
        self.has_instance = not code >> _NO_INSTANCE & 1
        self.has_key = not code >> _NO_KEY & 1
        self.name = words.texts[code >> _NAME & (1 << _WORD_BITS) - 1]
        self.process = words.texts[code >> _PROCESS & (1 << _WORD_BITS) - 1]
        self.tenant = tenants.texts[code >> _TENANT & (1 << _TENANT_BITS) - 1]


def new_words() -> tuple[Words, Words]:
    """For names and processes, and for tenants."""
    return Words(_WORD_BITS), Words(_TENANT_BITS)


def numbers_of(batch: pa.RecordBatch, slot: str, missing: int) -> np.ndarray:
    column = filled(batch, slot)
    if column is None:
        return np.full(batch.num_rows, missing, dtype=np.int64)
    return np.array(pc.fill_null(column, missing).to_numpy(zero_copy_only=False), dtype=np.int64)


def _deadlines(
    batch: pa.RecordBatch, publish: np.ndarray, at: np.ndarray, names: np.ndarray, words: Words, policies: Policies
) -> list[int]:
    by_name = [policies.of(name) if name is not None else policies.default for name in words.texts]
    ttls: list[Any] = [None] * int(publish.sum())
    column = filled(batch, "ttl")
    if column is not None:
        ttls = column.filter(pa.array(publish)).to_pylist()
    return [
        deadline_of(published_at, ttl, by_name[name])
        for published_at, ttl, name in zip(at[publish].tolist(), ttls, names[publish].tolist(), strict=True)
    ]


def _nulls(batch: pa.RecordBatch, slot: str) -> np.ndarray:
    column = filled(batch, slot)
    if column is None:
        return np.ones(batch.num_rows, dtype=bool)
    return column.is_null().to_numpy(zero_copy_only=False)


def _are_empty(batch: pa.RecordBatch, slot: str) -> np.ndarray:
    column = filled(batch, slot)
    if column is None:
        return np.zeros(batch.num_rows, dtype=bool)
    lengths = pc.fill_null(pc.binary_length(column), 0)
    return lengths.to_numpy(zero_copy_only=False) == 0


def _truths(batch: pa.RecordBatch, slot: str, wanted: bool) -> np.ndarray:
    column = filled(batch, slot)
    if column is None:
        return np.zeros(batch.num_rows, dtype=bool)
    return pc.fill_null(pc.equal(column, wanted), False).to_numpy(zero_copy_only=False)


def _is_blank(column: pa.Array) -> np.ndarray:
    encoded = column.dictionary_encode()
    blank = np.array([not text or text.isspace() for text in encoded.dictionary.to_pylist()] + [False])
    return blank[pc.fill_null(encoded.indices, len(blank) - 1).to_numpy()]


def _are_written_as_they_are(column: pa.Array | None, count: int) -> np.ndarray:
    """Which texts stand in JSON as they are. The bytes of all are looked at first: seldom one needs more."""
    if column is None:
        return np.ones(count, dtype=bool)
    _, offsets, content = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    octets = np.frombuffer(content, dtype=np.uint8)[bounds[0] : bounds[-1]] if content else np.array([], np.uint8)
    if not ((octets < 0x20) | (octets == ord('"')) | (octets == ord("\\"))).any():
        return np.ones(count, dtype=bool)
    needs = pc.fill_null(pc.match_substring_regex(column, _NEEDS_ESCAPE), False)
    return ~needs.to_numpy(zero_copy_only=False)


def _leave_out_bad_variables(column: pa.Array | None, publish: np.ndarray, ordinary: np.ndarray) -> None:
    """Read in slices at the speed of the reader; a slice in which one fails is looked at row by row."""
    if column is None:
        return
    if (pc.max(pc.binary_length(column)).as_py() or 0) > MOST_VARIABLES_BYTES:
        ordinary &= ~(pc.fill_null(pc.binary_length(column), 0).to_numpy() > MOST_VARIABLES_BYTES)
    present = publish & ordinary & ~column.is_null().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(present)
    texts = list(compress(column.to_numpy(zero_copy_only=False).tolist(), present.tolist()))
    for start in range(0, len(texts), _SLICE):
        some = texts[start : start + _SLICE]
        try:
            deque(map(read_object, some), maxlen=0)
        except NO_OBJECT:
            for row, text in zip(rows[start : start + _SLICE].tolist(), some, strict=True):
                ordinary[row] = problem_of_variables(text) is None
