"""Placement: the shard on which a message of the inbox lives, its position in its group, and resharding.

What is for our own engine lives with its correlation key, so that an attempt and its outcome are one commit; what is
for a remote system lives with its group. So only a group that was named explicitly may lie on several shards. The
order of a group is a text that sorts like it, so that a database finds the first ones by an index.
"""

from collections.abc import Iterator
from decimal import Decimal
from hashlib import sha256
from typing import Any

from conjoin.kernel.inbox import InboxMessage, InboxSettings
from conjoin.kernel.inbox.groups import order_of
from conjoin.kernel.inbox.message import Number
from conjoin.runtime.engine.placement import shard_of
from conjoin.store import tables as t
from conjoin.store.port import Frozen
from conjoin.store.rows import InboxGroupRow, InboxRow
from conjoin.store.tables import Table

OWN = "own"
"""All of it is here, for our own engine: a shard runs it by itself, many groups in a commit."""
SPANNING = "spanning"
"""For our own engine, on several shards: tried one by one, in an order over all of them."""
REMOTE = "remote"
"""All of it is here, for a remote system: calls are made between commits."""
MOVING = "moving"
"""One message that belongs to another shard, since its key was corrected."""

_NAMED = '["group"'
_MOVING = '["moving"'
_LONGEST = 200
"""Characters of a name of a group; an index of PostgreSQL does not hold much more than 2,000 bytes."""
_LONGEST_TEXT = 300
_END = "\x01"
_ESCAPE = str.maketrans({"\x00": "\x02\x01", "\x01": "\x02\x02", "\x02": "\x02\x03"})
"""Nothing may be smaller than the end of a text, and no database keeps a NUL."""
_MIDDLE = 2**63
_EXPONENT = 10**9
_NINES = str.maketrans("0123456789", "9876543210")
_NEGATIVE, _ZERO, _POSITIVE = "1", "2", "3"
_MOST_DIGITS = 400

MESSAGE_TABLES = (t.INBOX, t.INBOX_CONTENT, t.INBOX_ATTEMPT)


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


def place_of(message: InboxMessage, settings: InboxSettings) -> str:
    """What the kernel's `order_of` says, up to the last tie, which the key breaks; of texts only their beginning.

    It is fixed when a message is accepted: a later change of the setting orders only what comes after it.
    """
    kind, number, text, event_at, position, _ = order_of(settings)(message)
    return f"{kind}{_number(number)}{_text(text)}{_instant(event_at)}{_instant(position)}"


def _text(text: str) -> str:
    # Half a pair of surrogates is no text for a database.
    readable = text[:_LONGEST_TEXT].encode("utf-8", "replace").decode()
    return readable.translate(_ESCAPE) + _END


def _instant(value: int) -> str:
    return f"{min(max(value + _MIDDLE, 0), 2 * _MIDDLE - 1):016x}"


def _number(value: Number | str) -> str:
    """Sign, magnitude, digits; of a negative number everything is reversed."""
    exact = Decimal(value)
    if exact.is_zero():
        return _ZERO
    if exact.is_infinite():
        return f"{_POSITIVE}~" if exact > 0 else f"{_NEGATIVE}!"
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")[:_MOST_DIGITS]
    size = f"{exact.adjusted() + _EXPONENT:010}"
    if exact > 0:
        return f"{_POSITIVE}{size}{digits}{_END}"
    return f"{_NEGATIVE}{size.translate(_NINES)}{digits.translate(_NINES)}~"


def inbox_rows(frozen: Frozen, old: int, table: Table, shard: int, shards: int) -> Iterator[Any]:
    """Rows of one of the old shards that go to one of the new ones. Both tables are read in the order of the keys."""
    messages = ((row.key, home_of_row(row, shards)) for row in frozen.rows(old, t.INBOX))
    key, home = next(messages, (0, -1))
    for row in frozen.rows(old, table):
        while key < row[0] and home >= 0:
            key, home = next(messages, (0, -1))
        if key == row[0] and home == shard:
            yield row


def inbox_groups(frozen: Frozen, olds: int, shard: int, shards: int) -> list[InboxGroupRow]:
    """Groups are not copied: each with a message in line is due before all others, and touched by no commit yet."""
    groups = {
        row.group_key: reach_of(row.group_key, row.target, shards > 1)
        for old in range(olds)
        for row in frozen.rows(old, t.INBOX)
        if row.in_line and home_of_row(row, shards) == shard
    }
    return [InboxGroupRow(group_key, reach, due_at=0, version=0) for group_key, reach in groups.items()]
