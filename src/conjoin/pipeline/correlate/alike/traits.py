"""Traits: what the rules can tell of a single row, as one number a row, for a whole batch at once."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.kernel.instants import NEVER, after
from conjoin.kernel.policies import ALL, EXACTLY_ONE, ONCE_PER_INSTANCE, ONCE_PER_PROCESS, Policies, Policy
from conjoin.pipeline.correlate.fold.deadlines import LAST_DAY, deadlines_of, distinct, filled, later_by
from conjoin.pipeline.correlate.fold.detail import are_written_as_they_are
from conjoin.pipeline.correlate.fold.rows import DEFAULT_TENANT, read_texts
from conjoin.pipeline.correlate.fold.variables import leave_out_bad_variables
from conjoin.pipeline.correlate.shape import END, ID, KIND, LOCK, NOT_INTERRUPTING, OPEN, PUBLISH, REPEATED

_KIND_BITS = 3
_NOT_INTERRUPTING, _NO_END, _NO_ELEMENT, _NO_ID, _NO_BUSINESS, _NO_INSTANCE, _NO_KEY, _KEPT = range(3, 11)
_NAME, _PROCESS, _WORD_BITS = 11, 31, 20
_TENANT, _TENANT_BITS = 51, 12

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MOST_MARKS = 1_000


class Words:
    """Texts that repeat, by number; None is 0. A number stays with its text for the whole partition."""

    def __init__(self, bits: int) -> None:
        self.texts: list[str | None] = [None]
        self._most = 1 << bits
        self._numbers: dict[str | None, int] = {None: 0}

    def read(
        self, column: pa.Array | None, default: str | None, count: int, most: int | None = None
    ) -> tuple[np.ndarray, bool]:
        """The number of each row's text (a blank one is none), and whether there was room for all of them. Texts beyond
        `most` are not read."""
        if column is None:
            return np.full(count, self._number(default), dtype=np.int64), True
        encoded = column.dictionary_encode()
        if most is not None and len(encoded.dictionary) > most:
            return np.zeros(count, dtype=np.int64), True
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
    """Of a batch: `code` and the instants of each row, and which rows are ordinary enough to be compared. `starts`: the
    first row of each key."""

    def __init__(
        self, batch: pa.RecordBatch, starts: np.ndarray, words: Words, tenants: Words, policies: Policies
    ) -> None:
        count = batch.num_rows
        flags = batch.column("kind").to_numpy().astype(np.int64)
        self.kind = np.where(flags < 0, 0, flags & KIND)
        self._words = words
        names, room = words.read(filled(batch, "name"), None, count)
        processes, more_room = words.read(filled(batch, "process"), None, count)
        of_tenants, enough_room = tenants.read(filled(batch, "tenant"), DEFAULT_TENANT, count)
        lock, known_id, end, opens, publish = (self.kind == kind for kind in (LOCK, ID, END, OPEN, PUBLISH))
        by_name = [policies.of(name) if name is not None else policies.default for name in words.texts]
        at = numbers_of(batch, "at", 0)
        until = numbers_of(batch, "until", NEVER)
        until[publish] = deadlines_of(batch, publish, at, names, by_name)
        kept = ~_nulls(batch, "kept")
        marks = filled(batch, "taken_by")
        self.kept = kept & (opens | publish)
        self.ordinary = np.full(count, room and more_room and enough_room)
        if marks is not None:
            self.kept |= publish & marks.is_valid().to_numpy(zero_copy_only=False)
            marked = publish & pc.fill_null(pc.not_equal(marks, "[]"), False).to_numpy(zero_copy_only=False)
            told = marked & np.array([_are_marks_few(policy) for policy in by_name])[names]
            few, room = words.read(pc.if_else(pa.array(told), marks, None), None, count, _MOST_MARKS)
            # A message has no process: where that would stand is who has it already.
            processes = np.where(publish, few, processes)
            self.ordinary &= ~marked | (few > 0)
            self.ordinary &= room
        self.code = self.kind | names << _NAME | processes << _PROCESS | of_tenants << _TENANT
        self.code |= self._flags(batch, opens, flags)
        self.instants = [at, until, *_third_instants(batch, at, (publish, names), by_name)]
        self.ordinary &= (
            (publish & (names > 0))
            | (opens & (names > 0) & (processes > 0) & (self.code >> _NO_ID & 1 == 0))
            | (end & (processes > 0))
            | (lock & (processes > 0) & (until < NEVER))
            | (known_id & (names > 0) & kept & (self.code >> _NO_ID & 1 == 0))
        )
        self.ordinary &= flags & REPEATED == 0
        # A constraint may look at anything, not only at what a pattern tells.
        self.ordinary &= np.array([policy.constraint is None for policy in by_name])[names]
        # Beyond the calendar an instant is written as its end, which is no longer a comparison.
        self.ordinary &= at <= LAST_DAY
        for ends in self.instants[1:]:
            self.ordinary &= (ends <= LAST_DAY) | (ends == NEVER)
        for slot in ("key", "id", "instance", "element", "business"):
            self.ordinary &= are_written_as_they_are(filled(batch, slot), count)
        blank = filled(batch, "element")
        if blank is not None:
            self.ordinary &= ~_is_blank(blank)
        leave_out_bad_variables(filled(batch, "variables"), publish, self.ordinary)
        # Ids of messages are compared with those remembered of earlier ones, those of subscriptions among themselves.
        self.ids = _codes(filled(batch, "id"), np.where(known_id, PUBLISH, self.kind), starts)
        self.businesses = _codes(filled(batch, "business"), np.zeros(count, dtype=np.int64), starts)
        narrow = any(policy.cardinality in (ALL, ONCE_PER_INSTANCE) for policy in by_name)
        self.instances = _codes(filled(batch, "instance") if narrow else None, self.kind, starts)

    @property
    def at(self) -> np.ndarray:
        return self.instants[0]

    def name_and_process(self, words: int) -> tuple[str | None, str | None]:
        return self._words.texts[words & (1 << _WORD_BITS) - 1], self._words.texts[words >> _WORD_BITS]

    def _flags(self, batch: pa.RecordBatch, opens: np.ndarray, given: np.ndarray) -> np.ndarray:
        flags = (opens & (given & NOT_INTERRUPTING != 0)).astype(np.int64) << _NOT_INTERRUPTING
        flags |= (opens & _nulls(batch, "until")).astype(np.int64) << _NO_END
        flags |= self.kept.astype(np.int64) << _KEPT
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
        self.is_kept = bool(code >> _KEPT & 1)
        self.name = words.texts[code >> _NAME & (1 << _WORD_BITS) - 1]
        word = words.texts[code >> _PROCESS & (1 << _WORD_BITS) - 1]
        is_message = self.kind == PUBLISH
        self.process = None if is_message else word
        self.taken_by: list[str] | None = read_texts(word) if is_message and word else None
        self.tenant = tenants.texts[code >> _TENANT & (1 << _TENANT_BITS) - 1]


def new_words() -> tuple[Words, Words]:
    """For names and processes, and for tenants."""
    return Words(_WORD_BITS), Words(_TENANT_BITS)


def _are_marks_few(policy: Policy) -> bool:
    """Do marks tell processes, which are few, and is nothing else of their receivers looked at?"""
    return policy.cardinality in (ONCE_PER_PROCESS, EXACTLY_ONE) and policy.expected is None


def numbers_of(batch: pa.RecordBatch, slot: str, missing: int) -> np.ndarray:
    column = filled(batch, slot)
    if column is None:
        return np.full(batch.num_rows, missing, dtype=np.int64)
    return np.array(pc.fill_null(column, missing).to_numpy(zero_copy_only=False), dtype=np.int64)


def same_rows(table: np.ndarray, fewest: int = 1) -> list[np.ndarray]:
    """Which rows of a table of numbers are the same, group by group, of groups with so many rows. Those that a hash
    alone takes for the same as the first of their group are in none."""
    mixed = np.zeros(len(table), dtype=np.uint64)
    for column in table.T:
        mixed = (mixed ^ column.astype(np.int64, copy=False).view(np.uint64)) * _SPREAD
        mixed ^= mixed >> np.uint64(29)
    found, places = distinct(mixed)
    counts = np.bincount(places)
    # Small numbers are sorted by their digits, several times as fast.
    order = np.argsort(places.astype(np.int16) if len(found) < 2**15 else places, kind="stable")
    large = counts >= fewest
    order = order[np.repeat(large, counts)]
    groups = np.split(order, np.cumsum(counts[large])[:-1]) if len(order) else []
    return [members[(table[members] == table[members[0]]).all(axis=1)] for members in groups]


def words_of(codes: np.ndarray) -> np.ndarray:
    """The numbers of name and process in the codes of rows, as one number."""
    return codes >> _NAME & (1 << 2 * _WORD_BITS) - 1


def _third_instants(
    batch: pa.RecordBatch, at: np.ndarray, published: tuple[np.ndarray, np.ndarray], by_name: list[Policy]
) -> list[np.ndarray]:
    """Until when an id is remembered if that is not the deadline; of an id from an earlier run, when it came."""
    publish, names = published
    dedup = (policy.dedup for policy in by_name)
    spans = np.array([0 if isinstance(one, str) else after(0, one) for one in dedup], dtype=np.int64)
    known_id = np.abs(batch.column("kind").to_numpy()) & KIND == ID
    if not spans.any() and not known_id.any():
        return []
    third = np.where(publish, later_by(at, spans[names]), at)
    return [np.where(known_id, numbers_of(batch, "kept", 0), third)]


def _codes(column: pa.Array | None, kinds: np.ndarray, starts: np.ndarray) -> np.ndarray | None:
    """Numbers that are equal where texts are, of rows of one kind; below zero for nothing, and for the only row of its
    kind that a key has: there is no other to be equal to."""
    if column is None:
        return None
    compared = np.zeros(len(kinds), dtype=bool)
    lengths = np.diff(starts, append=len(kinds))
    for kind in np.flatnonzero(np.bincount(kinds)).tolist():
        same = kinds == kind
        compared |= same & np.repeat(np.add.reduceat(same, starts, dtype=np.int64) > 1, lengths)
    compared &= column.is_valid().to_numpy(zero_copy_only=False)
    codes = np.full(len(kinds), -1, dtype=np.int64)
    rows = np.flatnonzero(compared)
    codes[rows] = column.take(pa.array(rows)).dictionary_encode().indices.to_numpy() * np.int64(8) + kinds[rows]
    return codes


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


def _is_blank(column: pa.Array) -> np.ndarray:
    encoded = column.dictionary_encode()
    blank = np.array([not text or text.isspace() for text in encoded.dictionary.to_pylist()] + [False])
    return blank[pc.fill_null(encoded.indices, len(blank) - 1).to_numpy()]
