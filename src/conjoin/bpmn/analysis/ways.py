"""The ways through a scope: which element can come after which, and which may be active together.

Everything is found for a whole scope at once, in time that grows with its flows.
"""

from collections.abc import Sequence
from itertools import accumulate
from operator import or_

from conjoin.bpmn.analysis.graph import afterwards, bits, handed_on
from conjoin.bpmn.document import Node

Links = dict[str | None, list[Node]]
"""The link catch events of a scope, by the name of the link."""
_SPLITS_ALWAYS_ONE = ("exclusiveGateway", "eventBasedGateway")


def ways(scope: Node) -> dict[Node, list[Node]]:
    """Each element directly in a scope with those that can follow it: by flows, links and boundary events."""
    links = link_catches(scope)
    after = {node: [*node.targets, *node.boundaries, *link_targets(node, links)] for node in scope.children}
    return {node: [other for other in others if other.scope is scope] for node, others in after.items()}


def link_catches(scope: Node) -> Links:
    found: Links = {}
    for node in scope.children:
        if node.catches_link and node.event:
            found.setdefault(node.event.name, []).append(node)
    return found


def link_targets(node: Node, links: Links) -> list[Node]:
    """Where a link throw event leads, by the link catch events of its scope; nothing of any other element."""
    return links.get(node.event.name, []) if node.throws_link and node.event else []


class Branches:
    """Which elements of a scope are on different branches of a split, and not one after another.

    Sets of its elements are the bits of a number.
    """

    def __init__(self, scope: Node) -> None:
        follows = ways(scope)
        self._bit = bits(follows)
        self._after = afterwards(follows, self._bit)
        self._beside = handed_on(self._elsewhere(scope), follows)

    def are_parallel(self, one: Node, other: Node) -> bool:
        if self._after[one] & self._bit[other] or self._after[other] & self._bit[one]:
            return False
        return bool(self._beside[one] & self._bit[other])

    def _elsewhere(self, scope: Node) -> dict[Node, int]:
        """Each element at which a branch begins, with what the other branches of its splits lead to."""
        found: dict[Node, int] = {}
        for split in scope.children:
            branches = [target for target in split.targets if target.scope is scope]
            if split.tag not in _SPLITS_ALWAYS_ONE and len(branches) > 1:
                reached = [self._after[branch] | self._bit[branch] for branch in branches]
                for branch, others in zip(branches, _others(reached), strict=True):
                    found[branch] = found.get(branch, 0) | others
        return found


def _others(sets: Sequence[int]) -> list[int]:
    """For each set, all the others joined."""
    before = [0, *accumulate(sets, or_)]
    behind = [0, *accumulate(reversed(sets), or_)]
    return [before[place] | behind[len(sets) - 1 - place] for place in range(len(sets))]
