"""Notices of what stands in the inbox of a shard: messages that were parked, or expired there.

The log says nothing of the inbox, so its rows are looked at, by the instant at which they came to stand so. Time does
not go back on a shard, but stands still at times: of the last instant it is noted which ones were told.
"""

from collections.abc import Iterator
from typing import NamedTuple

from conjoin.kernel.verdicts.sentences import sentence
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.notices.notice import Notice
from conjoin.store.port import ShardStore

WHEN = {"parked": "tried_at", "expired": "decided_at"}
"""The states that are told of, and which column says since when."""
_COLUMNS = ("key", "tenant_id", "message_id", "name", "correlation_key", "attempts", "error_text", "message_key")


class Mark(NamedTuple):
    """Everything before the instant was told, and of that instant these keys."""

    at: int
    keys: tuple[int, ...] = ()

    def __str__(self) -> str:
        return json_text([self.at, list(self.keys)])

    def with_told(self, at: int, key: int) -> "Mark":
        return Mark(at, (*self.keys, key) if at == self.at else (key,))


def read_mark(text: str) -> Mark:
    at, keys = read_json(text)
    return Mark(at, tuple(keys))


def inbox_notices(shard: ShardStore, state: str, after: Mark) -> Iterator[tuple[Mark, Notice]]:
    """In the order in which it happened."""
    when = WHEN[state]
    reason = "parked_for" if state == "parked" else "reason"
    where = [("state", "=", state), (when, ">=", after.at)]
    found = sorted(shard.scan("inbox", [when, reason, *_COLUMNS], where))
    for at, why, key, *rest in found:
        if at > after.at or key not in after.keys:
            after = after.with_told(at, key)
            yield after, _notice(state, at, why, key, *rest)


def _notice(state: str, at: int, reason: str, key: int, *rest: str | int) -> Notice:
    tenant_id, message_id, name, correlation_key, attempts, error_text, message_key = rest
    said = {"attempts": attempts, "last_error": error_text}
    text = sentence(state, reason, said, str(name), str(correlation_key))
    facts = (str(tenant_id), str(name), str(correlation_key), int(message_key), str(message_id))
    return Notice(f"inbox-{key}-{state}-{at}", state, at, text, state, reason, *facts, inbox_key=key)
