"""Stories: every key told in lockstep, again and again, until no new doubts turn up.

What is in doubt on one key may put others in doubt, and those it again. Doubts only grow, so it ends; if that takes too
long, everything that is not settled yet is in doubt, which is never wrong.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from conjoin.pipeline.what_if.doubts import Doubted, Doubts, about_name
from conjoin.pipeline.what_if.judged import Judged
from conjoin.pipeline.what_if.lockstep import Lockstep
from conjoin.pipeline.what_if.reach import ANY_NAME
from conjoin.pipeline.what_if.recorded import CHILD, STUCK, Recorded, decode
from conjoin.pipeline.what_if.rules import Catalogs, WhatIfRules

MOST_ROUNDS = 20

Told = tuple[list[Judged], list[Doubted]]


def tell(rows: Iterable[Recorded], rules: WhatIfRules, doubts: Doubts) -> Iterator[Told]:
    """Key by key; the rows of a key stand together, in their order."""
    catalogs = Catalogs(rules)
    for place, mine in groupby(rows, key=attrgetter("tenant_id", "key")):
        story = Lockstep(rules, catalogs, doubts, place)
        for row in mine:
            story.take(row)
        judged = list(story.finish())
        yield judged, story.said


def settled(spread: Callable[[Doubts], Iterable[Doubted]]) -> Doubts:
    """All doubts, once nobody has new ones. `spread` tells all keys with the doubts known so far."""
    doubts = Doubts()
    for _ in range(MOST_ROUNDS):
        said = list(spread(doubts))
        if not doubts.add(said):
            return doubts
    while doubts.add(_everything(said)):
        said = list(spread(doubts))
    return doubts


def _everything(said: Iterable[Doubted]) -> list[Doubted]:
    """From each of these doubts on, any name under any key."""
    return [about_name(it.tenant_id, ANY_NAME, None, it.doubt) for it in said]


def note(rules: WhatIfRules, notes: Iterable[Recorded]) -> None:
    """What the rows that are no commands tell."""
    roots, stuck = dict(rules.roots), dict(rules.stuck)
    for row in notes:
        body = decode(row.body)
        if row.kind == CHILD:
            child, root, process_id = body
            roots[child] = (root, process_id)
        elif row.kind == STUCK:
            stuck[body[0]] = min(row.at, stuck.get(body[0], row.at))
    rules.roots, rules.stuck = roots, stuck
