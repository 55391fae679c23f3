"""Column names: tables whose columns have other names than ours are read by a mapping, `--map key=order_no`."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from conjoin.errors import InputError
from conjoin.pipeline.correlate.columns import TABLES

_SHORT = {"key": "correlation_key"}


@dataclass(slots=True)
class ColumnNames:
    """By table: what their columns are called here. A mapping that names no table is for every one that has both."""

    ours_of: dict[str, dict[str, str]] = field(default_factory=dict)
    _texts: dict[tuple[str, str], str] = field(default_factory=dict)
    """The mapping that each is from, until its column has been seen."""
    _seen: dict[str, set[str]] = field(default_factory=dict)

    def here(self, table: str, path: str, columns: Sequence[str]) -> list[str]:
        """The columns of a file under our names."""
        ours_of = self.ours_of.get(table, {})
        self._seen.setdefault(table, set()).update(columns)
        named = []
        for theirs in columns:
            ours = ours_of.get(theirs, theirs)
            if ours != theirs and ours in columns:
                raise InputError([f"--map: {path} has a column {ours} beside {theirs}: which of them counts?"])
            named.append(ours)
        for theirs in ours_of.keys() & set(columns):
            # Another table, or another try at this one, may have seen it before.
            text = self._texts.get((table, theirs))
            self._texts = {which: other for which, other in self._texts.items() if other != text}
        return named

    def check_all_seen(self) -> None:
        """Every mapping was of use, once all tables are read."""
        problems = []
        for text in dict.fromkeys(self._texts.values()):
            theirs = text.partition("=")[2]
            tables = [table for (table, _), other in self._texts.items() if other == text]
            seen = sorted({name for table in tables for name in self._seen.get(table, ())})
            problems.append(f"--map {text}: no file has a column {theirs}{_perhaps(theirs, seen)}")
        if problems:
            raise InputError(problems)


def read_mappings(texts: Iterable[str], given: Iterable[str]) -> ColumnNames:
    """`[TABLE.]OURS=THEIRS`, for the tables that are given."""
    names, problems = ColumnNames(), []
    for text in texts:
        left, _, theirs = text.partition("=")
        table, _, ours = left.rpartition(".")
        ours = _SHORT.get(ours, ours)
        if not ours or not theirs or (table and table not in TABLES):
            problems.append(f"--map: {text!r} is not like key=order_no or messages.key=order_no")
            continue
        among = [table] if table else list(given)
        known = [name for name in among if any(contract.name == ours for contract in TABLES[name])]
        if not known:
            ours_known = sorted({contract.name for name in among for contract in TABLES[name]})
            problems.append(f"--map: {ours} is no column of {' or '.join(among)}{_perhaps(ours, ours_known)}")
        for name in known:
            names.ours_of.setdefault(name, {})[theirs] = ours
            names._texts[name, theirs] = text
    if problems:
        raise InputError(problems)
    return names


def _perhaps(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; is it {near[0]}?" if near else f"; there are {', '.join(known[:30])}" if known else ""
