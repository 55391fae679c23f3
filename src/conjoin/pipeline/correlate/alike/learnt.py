"""Learnt: what is known of a run besides its rows: numbers of words, meetings with start events, answers to patterns.

None of it depends on which rows a partition has, so a worker keeps it from one partition of a run to the next, and asks
the kernel once.
"""

from conjoin.kernel.catalog import StartSubscription
from conjoin.pipeline.correlate.alike.answers import Inquiry, NotShareable, PatternAnswer
from conjoin.pipeline.correlate.alike.patterns import Alike, Pattern
from conjoin.pipeline.correlate.alike.start_versions import StartVersions
from conjoin.pipeline.correlate.alike.traits import new_words
from conjoin.pipeline.correlate.fold.walk import FoldSetting

OFTEN = 8
"""A pattern seen less often is walked: asking costs as much as walking a few histories."""

MOST_ANSWERS = 5_000


class Learnt:
    """Of one run, in one worker."""

    def __init__(self, setting: FoldSetting, starts: list[StartSubscription]) -> None:
        self.words, self.tenants = new_words()
        self.versions = StartVersions(setting.as_of, setting.since, starts)
        self.answers: dict[Pattern, PatternAnswer | None] = {}
        self._inquiry = Inquiry(setting, starts, self.versions, self.words, self.tenants)
        self._seen: dict[Pattern, int] = {}

    def answer_to(self, alike: Alike) -> PatternAnswer | None:
        """None: these histories are walked."""
        pattern = alike.pattern
        if pattern in self.answers:
            return self.answers[pattern]
        self._seen[pattern] = seen = self._seen.get(pattern, 0) + len(alike.starts)
        if seen < OFTEN or len(self.answers) >= MOST_ANSWERS:
            return None
        try:
            answer = self._inquiry.answer(pattern)
        except NotShareable:
            answer = None
        self.answers[pattern] = answer
        return answer


_of_run: dict[str, Learnt] = {}


def learnt_of(run: str | None, setting: FoldSetting, starts: list[StartSubscription]) -> Learnt:
    """What this process knows of the run, whose name is no other's; of one run at a time. None: nothing is kept."""
    if run is None:
        return Learnt(setting, starts)
    if run not in _of_run:
        _of_run.clear()
        _of_run[run] = Learnt(setting, starts)
    return _of_run[run]
