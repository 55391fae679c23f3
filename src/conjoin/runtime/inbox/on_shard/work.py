"""What every request to the inbox of a shard works with: the run it is part of, its rows, how they are booked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from conjoin.kernel.inbox import InboxMessage, InboxSettings, book
from conjoin.kernel.inbox.outcomes import Outcome, attempt_line
from conjoin.runtime.inbox.counts import Counts
from conjoin.runtime.inbox.on_shard.offers import Offers
from conjoin.runtime.inbox.on_shard.unit_of_work import Ledger
from conjoin.runtime.inbox.rows import Filed
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.run.batches import Reply

ATTEMPT = "attempt"


@dataclass(slots=True)
class InboxWork:
    """`index` is that of the shard, of `shards`; `take_key` gives a new key."""

    ledger: Ledger
    offers: Offers
    now: int
    index: int
    shards: int
    take_key: Callable[[], int]
    keep_dead_letter: Callable[[DeadLetter], Reply]
    failing: Mapping[int, str] = field(default_factory=dict)
    """Messages that could not be tried, and why."""
    tried: list[int] = field(default_factory=list)
    """The rows that the request has tried so far."""

    def book(self, filed: Filed, outcome: Outcome, asked: str, settings: InboxSettings, counts: Counts) -> Filed:
        """The message after an outcome, with a line in its history, as it is stored by this commit."""
        before = filed.message
        booked = book(before, outcome, self.now, settings)
        counts.note(before, outcome, booked)
        line = attempt_line(booked, outcome, asked, self.now, settings)
        filed = filed._replace(message=booked)
        if line is not None:
            told = (line.verdict, line.reason, line.asked, line.answered)
            filed = self.ledger.add_line(filed, line.at, ATTEMPT, "", told)
        self.ledger.put(filed, settings)
        return filed

    def put(self, filed: Filed, message: InboxMessage, settings: InboxSettings) -> Filed:
        filed = filed._replace(message=message)
        self.ledger.put(filed, settings)
        return filed
