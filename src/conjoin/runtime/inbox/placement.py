"""Homes: the shard on which a message of the inbox lives, and who can deal with its group.

What is for our own engine lives with its correlation key, so that an attempt and its outcome are one commit; what is
for a remote system lives with its group. So only a group that somebody named may lie on several shards.
"""

from hashlib import sha256

from conjoin.kernel.inbox import InboxMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.store.rows import InboxRow

OWN = "own"
"""All of it is here, for our own engine: a shard runs it by itself, many groups in a commit."""
SPANNING = "spanning"
"""For our own engine, on several shards: tried one by one by somebody who sees them all."""
REMOTE = "remote"
"""All of it is here, for a remote system: somebody makes the calls."""
MOVING = "moving"
"""One message that belongs to another shard, since its key was corrected."""

_NAMED = '["group"'
_MOVING = '["moving"'
_LONGEST = 200
"""Characters of a name of a group; an index of PostgreSQL does not hold much more than 2,000 bytes."""


def home_of(message: InboxMessage, shards: int) -> int:
    return shard_of(message.group_key if message.target else message.hint.correlation_key, shards)


def home_of_row(row: InboxRow, shards: int) -> int:
    return shard_of(row.group_key if row.target else row.correlation_key, shards)


def reach_of(group_key: str, target: str, is_one_of_many: bool) -> str:
    if group_key.startswith(_MOVING):
        return MOVING
    if target:
        return REMOTE
    return SPANNING if is_one_of_many and group_key.startswith(_NAMED) else OWN


def stored_group(group_key: str) -> str:
    """The name of a group as it is stored: of a long one the beginning, and what tells it from others."""
    if len(group_key) <= _LONGEST:
        return group_key
    return f"{group_key[:_LONGEST]}#{sha256(group_key.encode('utf-8', 'replace')).hexdigest()}"


def moving_group(key: int) -> str:
    """A message that moves is a group of its own until it has arrived."""
    return f"{_MOVING},{key}]"
