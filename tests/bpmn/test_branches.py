"""Which elements may be active together, against the same question asked the slow way of every pair."""

import random
from itertools import permutations

from conjoin.bpmn.analysis.graph import reachable
from conjoin.bpmn.analysis.ways import Branches, ways
from conjoin.bpmn.document import Node
from conjoin.bpmn.reading.documents import read_document
from conjoin.bpmn.reading.xml import parse
from tests.bpmn.snippets import BEGIN, flow, model

TAGS = ("parallelGateway", "inclusiveGateway", "exclusiveGateway", "manualTask", "userTask")


def _random_scope(chance: random.Random) -> Node:
    ids = [f"n{number}" for number in range(chance.randint(2, 9))]
    nodes = "".join(f'<{chance.choice(TAGS)} id="{each}"/>\n' for each in ids)
    flows = [flow(chance.choice(ids), chance.choice(ids)) for _ in range(chance.randint(1, 14))]
    flows = [each.replace('<sequenceFlow id="', f'<sequenceFlow id="f{n}') for n, each in enumerate(flows)]
    return read_loosely(model(BEGIN + nodes + "".join(flows)))


def read_loosely(content: bytes) -> Node:
    """The process of a file that no rule is asked about."""
    return read_document(parse(content, "m.bpmn"), "zeebe", None).processes[0]


def _slowly(scope: Node, one: Node, other: Node) -> bool:
    follows = ways(scope)
    if other in reachable(follows[one], follows) or one in reachable(follows[other], follows):
        return False
    for split in scope.children:
        branches = [each.target for each in split.outgoing if each.target]
        reached = [reachable([branch], follows) for branch in branches]
        chooses = split.tag == "exclusiveGateway"
        if not chooses and any(one in first and other in second for first, second in permutations(reached, 2)):
            return True
    return False


def test_elements_are_parallel_where_a_split_leads_to_both(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        scope = _random_scope(chance)
        branches = Branches(scope)
        for one, other in permutations(scope.children, 2):
            assert branches.are_parallel(one, other) == _slowly(scope, one, other), scope.flows
