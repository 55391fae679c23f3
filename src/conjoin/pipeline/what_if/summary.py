"""The answer in sum: how many messages went from which verdict to which, and the first of those that changed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from conjoin.pipeline.what_if.judged import CHANGED, SAME, UNKNOWN
from conjoin.times.iso8601 import instant_text

_ORDER = (CHANGED, UNKNOWN, SAME)
_SHOWN = (
    *("message_key", "name", "correlation_key", "tenant_id", "message_id", "change"),
    *("was_verdict", "was_reason", "was_receivers", "was_sentence"),
    *("would_verdict", "would_reason", "would_receivers", "would_sentence", "others_unknown"),
)


class Turn(NamedTuple):
    """So many messages that were this would have been that."""

    change: str
    was: str
    would: str
    messages: int


class WhatIfSummary(NamedTuple):
    turns: Sequence[Turn]
    changes: Sequence[dict[str, Any]]
    """The first so many messages that changed or are unknown, by time."""

    def count(self, change: str) -> int:
        return sum(turn.messages for turn in self.turns if turn.change == change)


def summarize(messages: DataFrame, limit: int) -> WhatIfSummary:
    by = ("change", "was_verdict", "was_reason", "would_verdict", "would_reason")
    counted = messages.groupBy(*by).agg(F.count(F.lit(1)).alias("messages")).collect()
    turns = [
        Turn(row.change, _words(row.was_verdict, row.was_reason), _words(row.would_verdict, row.would_reason), row[-1])
        for row in counted
    ]
    turns.sort(key=lambda turn: (_ORDER.index(turn.change), -turn.messages, turn.was, turn.would))
    changed = messages.where(F.col("change") != SAME)
    first = changed.withColumn("us", F.unix_micros("published_at")).orderBy("us", "message_key").limit(limit)
    return WhatIfSummary(turns, [_shown(row) for row in first.collect()])


def _words(verdict: str, reason: str) -> str:
    return f"{verdict} {reason}".strip()


def _shown(row: Any) -> dict[str, Any]:
    told = {name: row[name] for name in _SHOWN}
    return {**told, "message_key": str(row.message_key), "published_at": instant_text(row.us)}
