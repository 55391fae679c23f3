"""Counts: what the summary of a run tells, counted while the rows pass, so that nobody reads them again for it."""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class Example(msgspec.Struct, array_like=True, order=True, frozen=True):
    """The earliest message of its tally; of several, the first by key, name and detail."""

    at: int
    key: str
    name: str
    detail: str


class ReasonTally(msgspec.Struct, array_like=True):
    """How many messages have a verdict for a reason with a nearest miss of one kind, and one of them."""

    verdict: str
    reason: str
    nearest: str
    count: int
    example: Example


class PartitionCounts(msgspec.Struct):
    """Of a partition. `rows_in` and `later` are by table, `dead_letters` by "table reason"."""

    rows_in: dict[str, int] = {}
    later: dict[str, int] = {}
    dead_letters: dict[str, int] = {}
    tallies: list[ReasonTally] = []
    ends_ignored: int = 0
    kept: dict[str, int] = {}
    """Of the rows that came in, by table: those that a run before has kept."""
    still_offered: int = 0
    """Messages that somebody has taken and others may still take: correlated, and in `buffered`."""
    shared_rows: int = 0
    """Rows of histories that shared an answer of the kernel."""
    largest_key: tuple[int, str] = (0, "")
    """How many rows the key with most rows has, and that key."""
    near: dict[str, int] = {}
    """Messages that nobody took though somebody waits with nearly their key, by what the keys differ in."""

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    def add_dead(self, table: str, reason: str, count: int = 1) -> None:
        name = f"{table} {reason}"
        self.dead_letters[name] = self.dead_letters.get(name, 0) + count

    def add_messages(self, said: dict[str, pa.Array], source: pa.RecordBatch, rows: np.ndarray) -> None:
        """These rows of a batch, with what was said of each."""
        texts, codes = [], np.zeros(len(rows), dtype=np.int64)
        for column in ("verdict", "reason", "nearest"):
            encoded = pc.fill_null(said[column], "").dictionary_encode()
            texts.append(encoded.dictionary.to_pylist())
            codes = codes * len(texts[-1]) + encoded.indices.to_numpy()
        at = pc.fill_null(source.column("at"), 0).to_numpy()[rows]
        for code in np.flatnonzero(counts := np.bincount(codes)).tolist():
            some = np.flatnonzero(codes == code)
            earliest = at[some].min()
            first = some[at[some] == earliest]
            columns = source.column("key").take(rows[first]), source.column("name").take(rows[first])
            examples = zip(*map(_texts, (*columns, said["detail"].take(first))), strict=True)
            left, nearest = divmod(code, len(texts[2]))
            verdict, reason = divmod(left, len(texts[1]))
            what = texts[0][verdict], texts[1][reason], texts[2][nearest]
            self.add(ReasonTally(*what, int(counts[code]), min(Example(int(earliest), *one) for one in examples)))

    def add(self, other: ReasonTally) -> None:
        for tally in self.tallies:
            if (tally.verdict, tally.reason, tally.nearest) == (other.verdict, other.reason, other.nearest):
                tally.count += other.count
                tally.example = min(tally.example, other.example)
                return
        self.tallies.append(other)


def _texts(column: pa.Array) -> list[Any]:
    return ["" if value is None else value for value in column.to_pylist()]


def merged(parts: list[PartitionCounts]) -> PartitionCounts:
    """Of the whole run."""
    whole = PartitionCounts()
    for part in parts:
        for mine, theirs in (
            (whole.rows_in, part.rows_in),
            (whole.later, part.later),
            (whole.dead_letters, part.dead_letters),
            (whole.kept, part.kept),
            (whole.near, part.near),
        ):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count
        for tally in part.tallies:
            whole.add(tally)
        whole.ends_ignored += part.ends_ignored
        whole.shared_rows += part.shared_rows
        whole.still_offered += part.still_offered
        whole.largest_key = max(whole.largest_key, part.largest_key)
    whole.tallies.sort(key=lambda tally: (tally.verdict, tally.reason, tally.nearest))
    return whole
