"""Taken messages: what is said of messages that one waiting instance has, of many of them at once.

Of a crowded key that is nearly every message. What is said tells of the subscription and how long the message waited,
and of nothing else: so the kernel is asked once for each reason, with symbols in the place of what differs, and its
words are filled column by column.
"""

import re
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation.events import MessageCorrelated
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.state import KeySpace
from conjoin.kernel.policies import Policy
from conjoin.kernel.verdicts.verdicts import Verdict, parameters, verdict_of
from conjoin.pipeline.correlate.alike.symbols import SIGN, STOP
from conjoin.pipeline.correlate.fold.detail import are_written_as_they_are, detail_text
from conjoin.pipeline.correlate.results import PAIR, SAID, arrow_types

_PROCESS, _INSTANCE, _ELEMENT, _KEY = (f"{SIGN}{number}{STOP}" for number in range(4))
_WAITED_MS = 987_654_321
_SYMBOLS = re.compile(f"({SIGN}[0-3]{STOP}|{_WAITED_MS})")
_NOWHERE = KeySpace("", "")
_NOTHING = Catalog()


class TakenMessages:
    """Messages that were settled, by the rows they came in, each with the one event that gave it away."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.events: list[MessageCorrelated] = []

    def take(self, message: Message) -> bool:
        """Is it one of them? It is over, and nothing else is to be said of it."""
        targets = message.targets
        if len(targets) != 1 or message.stored or message.policy.expected is not None:
            return False
        event = targets[0]
        if type(event) is not MessageCorrelated or event.before is not None:
            return False
        self.rows.append(message.payload)
        self.events.append(event)
        return True

    def columns(self) -> tuple[dict[str, pa.Array], list[pa.Array]]:
        """Of each message what was said of it, and its pair."""
        events, count = self.events, len(self.events)
        who = [event.subscription for event in events]
        process = pa.array([one.process_id for one in who], pa.string())
        key = pa.array([one.key for one in who], pa.string())
        instance = pa.array([one.instance_id for one in who], pa.string())
        element = pa.array([one.element_id for one in who], pa.string())
        at = np.array([event.at for event in events], dtype=np.int64)
        said = arrow_types(SAID)
        decided_at = pa.array(at).cast(said["decided_at"])
        columns = {
            "verdict": pa.repeat(pa.scalar("correlated", said["verdict"]), count),
            "reason": pa.array([event.reason for event in events], said["reason"]),
            "detail": self._details(process, instance, element, key),
            "decided_at": decided_at,
            "offered": pa.repeat(pa.scalar(False), count),
            "nearest": pa.nulls(count, said["nearest"]),
        }
        kind = pa.repeat(pa.scalar("subscription", arrow_types(PAIR)["kind"]), count)
        return columns, [kind, process, key, instance, element, decided_at]

    def _details(self, *texts: pa.Array) -> pa.Array:
        events = self.events
        plain = np.logical_and.reduce([are_written_as_they_are(column, len(events)) for column in texts])
        there = [column.is_valid().to_numpy(zero_copy_only=False) for column in texts]
        has_element = there.pop(2)
        plain &= np.logical_and.reduce(there)
        reasons = pa.array([event.reason for event in events], pa.string()).dictionary_encode()
        kinds = 2 * reasons.indices.to_numpy() + has_element
        rows, parts = [], []
        for kind in np.unique(kinds[plain]).tolist():
            some = np.flatnonzero(plain & (kinds == kind))
            words = _words(reasons.dictionary[kind >> 1].as_py(), bool(kind & 1))
            rows.append(some)
            parts.append(self._filled(words, some, texts))
        others = np.flatnonzero(~plain)
        if len(others):
            rows.append(others)
            parts.append(pa.array([_detail(events[row]) for row in others.tolist()], pa.string()))
        order = np.empty(len(events), dtype=np.int64)
        order[np.concatenate(rows)] = np.arange(len(events))
        return pa.concat_arrays(parts).take(pa.array(order))

    def _filled(self, words: list[str], rows: np.ndarray, texts: tuple[pa.Array, ...]) -> pa.Array:
        columns: list[Any] = []
        for word in words:
            if word == str(_WAITED_MS):
                some = [self.events[row] for row in rows.tolist()]
                ends = [(event.message.published_at, event.at) for event in some]
                published_at, at = np.array(ends, dtype=np.int64).T
                columns.append(pa.array((at - published_at).clip(min=0) // 1_000).cast(pa.string()))
            elif word.startswith(SIGN):
                columns.append(texts[int(word[1])].take(pa.array(rows)))
            else:
                columns.append(word)
        return pc.binary_join_element_wise(*columns, "")


@cache
def _words(reason: str, has_element: bool) -> list[str]:
    """Texts and symbols, one after the other."""
    message = Message(0, "", 0, 0, Policy())
    waiting = Subscription(_KEY, 0, "", _PROCESS, _INSTANCE, _ELEMENT if has_element else None, 0)
    event = MessageCorrelated(message, waiting, _WAITED_MS * 1_000, reason)
    return [word for word in _SYMBOLS.split(_detail(event).decode()) if word]


def _detail(event: MessageCorrelated) -> bytes:
    message = event.message
    message.targets = [event]
    verdict: Verdict = verdict_of(_NOWHERE, message, message.deadline, _NOTHING)
    told = parameters(_NOWHERE, message, verdict, message.deadline, _NOTHING)
    message.targets = ()
    return detail_text(verdict.verdict, told)
