"""Of those who wait for a name, the ones whose key this may be with a slip: for stores, tables and tests.

Who is looked at is decided elsewhere, by what an index or a join can bring together.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from conjoin.kernel.verdicts.similar_keys import OTHERWISE, Awaited, compared, difference_of
from conjoin.kernel.verdicts.slips import CUT, IN_A_NUMBER, slip, stands_alone

MOST_SLIPS = 2
"""Where more keys than this are one slip away, keys here differ so by nature, and none of them is named."""
MOST_WRITTEN = 3
"""Where more keys than this are the same but for one way to write it (7 with each of many prefixes), nothing speaks
for one of them."""

Around = Callable[[str], Sequence[str]]
"""Keys that are awaited, the nearest to a key among them."""


def nearest(key: str, others: Iterable[Awaited], around: Around) -> list[tuple[str, Awaited]]:
    """In what each differs, one for a key: those only written in another way, else those with a slip."""
    by_key: dict[str, Awaited] = {}
    for awaited in others:
        by_key.setdefault(awaited.key, awaited)
    by_key.pop(key, None)
    its = compared(key)
    written = [(difference_of(its, compared(other)), awaited) for other, awaited in by_key.items()]
    found = [(differs, awaited) for differs, awaited in written if differs != OTHERWISE]
    if found:
        alike = Counter(differs for differs, _ in found)
        return [(differs, awaited) for differs, awaited in found if alike[differs] <= MOST_WRITTEN]
    slips = [(slip(key, other), awaited) for other, awaited in by_key.items()]
    some = [(differs, awaited) for differs, awaited in slips if differs is not None]
    if len(some) > MOST_SLIPS or sum(differs == CUT for differs, _ in some) > 1:
        return []
    return [(differs, it) for differs, it in some if _is_evidence(key, it.key, differs, around)]


def _is_evidence(key: str, other: str, differs: str, around: Around) -> bool:
    return differs not in IN_A_NUMBER or stands_alone(key, other, differs, around(other))
