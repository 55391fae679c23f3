"""Ways through a graph: what can be reached, and what goes round. Without recursion, as a model may be long."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

N = TypeVar("N", bound=Hashable)
Graph = Mapping[N, Sequence[N]]
"""Each node with those that follow it; all nodes are keys."""


def reachable(begin: Iterable[N], follows: Graph[N]) -> set[N]:
    """The nodes that can be reached, those at which it begins included."""
    seen: set[N] = set()
    waiting = list(begin)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting.extend(follows[node])
    return seen


def knots(follows: Graph[N]) -> list[list[N]]:
    """The groups of nodes that all lead to each other, each in the order of the graph."""
    chief = _chiefs(follows)
    groups: dict[N, list[N]] = {}
    for node in follows:
        groups.setdefault(chief[node], []).append(node)
    return [group for group in groups.values() if len(group) > 1 or group[0] in follows[group[0]]]


def _chiefs(follows: Graph[N]) -> dict[N, N]:
    """Each node with the one that stands for its group (Kosaraju); a group comes before those that it leads to."""
    leads: dict[N, list[N]] = {node: [] for node in follows}
    for node, after in follows.items():
        for other in after:
            leads[other].append(node)
    chief: dict[N, N] = {}
    for begin in reversed(_by_finish(follows)):
        # A chief of all that lead to it and have none yet.
        waiting = [begin]
        while waiting:
            node = waiting.pop()
            if node not in chief:
                chief[node] = begin
                waiting.extend(leads[node])
    return chief


def bits(follows: Graph[N]) -> dict[N, int]:
    """A bit for each node, so that many sets of nodes take little memory and are joined at once."""
    return {node: 1 << place for place, node in enumerate(follows)}


def afterwards(follows: Graph[N], bit: Mapping[N, int]) -> dict[N, int]:
    """What can come after each node, as bits; the node itself only if there is a way back."""
    chief = _chiefs(follows)
    later: dict[N, int] = dict.fromkeys(follows, 0)
    for node in reversed(chief):
        for after in follows[node]:
            joined = 0 if chief[after] is chief[node] else later[chief[after]]
            later[chief[node]] |= bit[after] | joined
    return {node: later[chief[node]] for node in follows}


def handed_on(given: Mapping[N, int], follows: Graph[N]) -> dict[N, int]:
    """Each node with the bits given to it and to all that lead to it."""
    chief = _chiefs(follows)
    held: dict[N, int] = dict.fromkeys(follows, 0)
    for node in follows:
        held[chief[node]] |= given.get(node, 0)
    for node in chief:
        for after in follows[node]:
            held[chief[after]] |= held[chief[node]]
    return {node: held[chief[node]] for node in follows}


def _by_finish(follows: Graph[N]) -> list[N]:
    """All nodes, each after everything that it leads to and that was not seen before."""
    finished: list[N] = []
    seen: set[N] = set()
    for begin in follows:
        if begin in seen:
            continue
        seen.add(begin)
        path = [(begin, iter(follows[begin]))]
        while path:
            node, ahead = path[-1]
            after = next((other for other in ahead if other not in seen), None)
            if after is None:
                finished.append(node)
                path.pop()
            else:
                seen.add(after)
                path.append((after, iter(follows[after])))
    return finished


def way_round(begin: N, follows: Graph[N]) -> list[N]:
    """The shortest way from a node back to itself, without the last step; empty if there is none."""
    before: dict[N, N] = {}
    waiting = [begin]
    for node in waiting:
        for after in follows[node]:
            if after == begin:
                way = [node]
                while way[-1] != begin:
                    way.append(before[way[-1]])
                return way[::-1]
            if after not in before:
                before[after] = node
                waiting.append(after)
    return []
