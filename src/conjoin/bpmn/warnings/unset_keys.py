"""A correlation key that can never have a value, or that looks like a slip of the pen.

A key without variables is computed. For one with variables it is looked up what can write them: where nothing but
mappings, scripts and loops can, the variable must be among what they write. Where a worker, a message or the creator
of an instance may bring any variable, one is suspected that stands nowhere else and is almost another's name.
"""

from collections import Counter
from difflib import get_close_matches
from itertools import islice

from conjoin.bpmn.analysis.expression_sites import Written, reads, writes
from conjoin.bpmn.document import Document, Found, Node
from conjoin.bpmn.expressions import readable
from conjoin.feel import CompiledExpression
from conjoin.kernel.plan import value_or_null

_ALIKE = 0.8
_LONGEST_COMPARED = 100
_MOST_COMPARISONS = 20_000
"""Of names in a file: in one of very many variables, slips of the pen are no longer looked for."""
_MOST_NAMED = 5
"""Variables of one key."""


def unset_keys(document: Document) -> Found:
    names = _FileNames(reads(document))
    for process in document.processes:
        names.written = writes(process)
        names.guessed.clear()
        for node in process.within():
            key = None if node.starts_process else readable(node.correlation_key)
            if key is None:
                continue
            if not key.is_constant:
                yield from islice(_unset(node, key, names), _MOST_NAMED)
                continue
            value = value_or_null(key, {}, 0)
            if value is None or isinstance(value, (bool, list, dict)):
                text = f"the correlation key {key.text} is never a text or a number"
                yield node, text, "Write an expression over a variable, such as =orderId."


class _FileNames:
    """The variables of a file and of one of its processes, and which is almost called like which."""

    def __init__(self, read: Counter[str]) -> None:
        self.read = read
        self.written = Written(set(), False)
        self.guessed: dict[str, str | None] = {}
        self._place = {name: number for number, name in enumerate(read)}
        self._comparisons_left = _MOST_COMPARISONS

    def alike(self, name: str) -> str | None:
        """Another variable of almost this name that has the better right to be taken for the true one."""
        if name not in self.guessed:
            self.guessed[name] = self._looked_for(name)
        return self.guessed[name]

    def _looked_for(self, name: str) -> str | None:
        self._comparisons_left -= len(self.read) + len(self.written.names)
        if self._comparisons_left < 0 or len(name) > _LONGEST_COMPARED:
            return None
        others = (*self.read, *sorted(self.written.names))
        better = {other.casefold(): other for other in others if self._is_better(other, name)}
        found = get_close_matches(name.casefold(), better, n=1, cutoff=_ALIKE)
        return better[found[0]] if found else None

    def _is_better(self, other: str, name: str) -> bool:
        if other == name or len(other) > _LONGEST_COMPARED:
            return False
        return other in self.written.names or self._rank(other) > self._rank(name)

    def _rank(self, name: str) -> tuple[int, int]:
        return self.read[name], -self._place[name]


def _unset(node: Node, key: CompiledExpression, names: _FileNames) -> Found:
    for name in key.names:
        if name in names.written.names:
            continue
        alike = names.alike(name)
        guess = f"Did you mean '{alike}'? " if alike else ""
        if not names.written.anything:
            text = f"nothing in the process writes the variable '{name}' of the correlation key"
            yield node, text, f"{guess}Let a mapping, a script or a worker set it before."
        elif alike and names.read[name] == 1:
            text = f"the variable '{name}' of the correlation key stands nowhere else in the file"
            yield node, text, f"{guess}If not, see that a worker or a message brings it."
