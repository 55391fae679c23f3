"""A correlation key that can never have a value, or that looks like a slip of the pen.

A key without variables is computed. For one with variables it is looked up what can write them: where nothing but
mappings, scripts and loops can, the variable must be among what they write. Where a worker, a message or the creator
of an instance may bring any variable, one is suspected that stands nowhere else and is almost another's name.
"""

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from conjoin.bpmn.document import Document, Node
from conjoin.bpmn.expressions import compiled, is_expression
from conjoin.bpmn.keys import correlation_key
from conjoin.bpmn.variables import Written, reads, writes
from conjoin.errors import Problem
from conjoin.feel import Expression, FeelSyntaxError

RULE = "unset_keys"
_ALIKE = 0.8


def unset_keys(document: Document) -> Iterator[Problem]:
    read = reads(document)
    for process in document.processes:
        written = writes(process)
        for node in process.within():
            key = _key(node)
            if key is None or node.starts_process:
                continue
            if key.is_constant:
                yield from _constant(document, node, key)
            else:
                yield from _unset(document, node, key, read, written)


def _key(node: Node) -> Expression | None:
    text = correlation_key(node)
    try:
        return compiled(text) if text and is_expression(text) else None
    except FeelSyntaxError:
        return None


def _constant(document: Document, node: Node, key: Expression) -> Iterator[Problem]:
    value = key({}, 0)
    if value is None or isinstance(value, (bool, list, dict)):
        text = f"the correlation key {key.text} is never a text or a number"
        yield document.problem(node, RULE, text, "Write an expression over a variable, such as =orderId.")


def _unset(document: Document, node: Node, key: Expression, read: Counter[str], written: Written) -> Iterator[Problem]:
    for name in key.names:
        if name in written.names:
            continue
        alike = _alike(name, read, written)
        guess = f"Did you mean '{alike}'? " if alike else ""
        if not written.anything:
            text = f"nothing in the process writes the variable '{name}' of the correlation key"
            yield document.problem(node, RULE, text, f"{guess}Let a mapping, a script or a worker set it before.")
        elif alike and read[name] == 1:
            text = f"the variable '{name}' of the correlation key stands nowhere else in the file"
            yield document.problem(node, RULE, text, f"{guess}If not, see that a worker or a message brings it.")


def _alike(name: str, read: Counter[str], written: Written) -> str | None:
    """Another variable of almost this name that has the better right to be taken for the true one."""
    place = {other: number for number, other in enumerate(read)}

    def is_better(other: str) -> bool:
        return other in written.names or (read[other], -place[other]) > (read[name], -place[name])

    better = {
        other.casefold(): other for other in (*read, *sorted(written.names)) if other != name and is_better(other)
    }
    found = get_close_matches(name.casefold(), better, n=1, cutoff=_ALIKE)
    return better[found[0]] if found else None
