"""Receiving: what a source brought is accepted by the kernel's rules, and becomes an arrival for its shard.

What cannot be read is a dead letter with its raw bytes; it stops nobody.
"""

from collections.abc import Iterable
from functools import lru_cache
from math import isinf
from typing import Any

from conjoin.feel import compile_expression
from conjoin.kernel.inbox import InboxMessage, InboxSettings, accept
from conjoin.kernel.inbox.accepting import Arrival, Ignored
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.settings import EXPRESSION_MARK
from conjoin.kernel.policies import Policies
from conjoin.kernel.storable import whole_number
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.inbox.across_shards.group_order import place_of
from conjoin.runtime.inbox.counts import Counts
from conjoin.runtime.inbox.placement import home_of, stored_group
from conjoin.runtime.inbox.receiving.channel_rows import Taken
from conjoin.runtime.inbox.receiving.storable import unstorable
from conjoin.runtime.inbox.requests import AT_ONCE, InboxArrivals
from conjoin.runtime.inbox.rows import Filed, text_to_keep
from conjoin.runtime.ingest.dead_letters import MOST_RAW_BYTES, DeadLetter

_LARGEST = 1.7976931348623157e308


class Reception:
    """Takes the rows of one channel, and has them ready as requests to the shards."""

    def __init__(self, channel: Channel, settings: InboxSettings, shards: int, policies: Policies) -> None:
        """`policies` are those of the store."""
        self.counts = Counts()
        """What never becomes an arrival; the shards count the rest."""
        self._channel = channel
        self._settings = settings
        self._shards = shards
        self._policies = policies
        self._arrivals: dict[int, list[Filed]] = {}
        self._dead_letters: dict[int, list[DeadLetter]] = {}

    def take(self, arrivals: Iterable[Taken]) -> None:
        for arrival in arrivals:
            if not self._channel.enabled:
                self.counts += Counts(received=1, dropped=1)
            elif isinstance(arrival, Ignored):
                self.counts += Counts(received=1, ignored=1)
            elif isinstance(arrival, DeadLetter):
                self._keep(arrival)
            else:
                self._accept(arrival)

    def requests(self) -> Iterable[tuple[int, InboxArrivals]]:
        """Each with its shard, a bounded number of messages in one."""
        for shard in sorted({*self._arrivals, *self._dead_letters}):
            arrivals, letters = self._arrivals.get(shard, []), self._dead_letters.get(shard, [])
            for start in range(0, max(len(arrivals), len(letters)), AT_ONCE):
                some = slice(start, start + AT_ONCE)
                yield shard, InboxArrivals(arrivals[some], letters[some])

    def _accept(self, arrival: Arrival) -> None:
        if self._settings.order.startswith(EXPRESSION_MARK) and arrival.sort_value is None:
            arrival = arrival._replace(sort_value=_sort_value(self._settings.order, arrival))
        accepted = accept(arrival, self._channel, self._settings, self._policies)
        if isinstance(accepted, InboxMessage):
            self._take(arrival, accepted)
        elif isinstance(accepted, Ignored):
            self.counts += Counts(received=1, ignored=1)
        else:
            self._bury(arrival, accepted.reason, f"{accepted.field}: {accepted.value}".rstrip(": "))

    def _take(self, arrival: Arrival, message: InboxMessage) -> None:
        message = message._replace(group_key=stored_group(message.group_key), sort_value=_finite(message.sort_value))
        problem = unstorable(message)
        if problem is not None:
            self._bury(arrival, "bad_type", problem)
        elif not message.target and not message.hint.name.strip():
            self._bury(arrival, "missing_name", "name: a message for our own engine has one")
        else:
            filed = Filed(message, place_of(message, self._settings))
            self._arrivals.setdefault(home_of(message, self._shards), []).append(filed)

    def _bury(self, arrival: Arrival, reason: str, text: str) -> None:
        raw = (arrival.raw or arrival.payload or b"")[:MOST_RAW_BYTES]
        self._keep(DeadLetter(self._channel.name, arrival.source, arrival.position, reason, text_to_keep(text), raw))

    def _keep(self, letter: DeadLetter) -> None:
        self._dead_letters.setdefault(shard_of(letter.part, self._shards), []).append(letter)


def _finite(value: Any) -> Any:
    """JSON knows no infinity."""
    return min(max(value, -_LARGEST), _LARGEST) if isinstance(value, float) and isinf(value) else value


_compiled = lru_cache(maxsize=16)(lambda text: compile_expression(text).stored())


def _sort_value(order: str, arrival: Arrival) -> str | float | None:
    """What the expression of the order says about the payload; nothing about one that cannot be read."""
    try:
        row = read_client_json(arrival.payload or b"{}")
    except NOT_JSON:
        return None
    value = _compiled(order.removeprefix(EXPRESSION_MARK))(row if isinstance(row, dict) else {}, arrival.received_at)
    if isinstance(value, str):
        return value
    whole = whole_number(value)
    try:
        return whole if whole is not None and whole == value else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
