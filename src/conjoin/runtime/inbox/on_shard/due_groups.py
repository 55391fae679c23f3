"""Due groups: of each group the messages that a run needs to know, and when the group is to be looked at again.

In mode `fail_first` those are the first in line, in mode `all` the ones that are due; for a strict gate also those that
keep it shut. So neither what is parked nor what waits behind another is read. The answer to "when again" may be too
early, never too late.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from conjoin.kernel.inbox import InboxMessage, InboxSettings, due_at_of, plan
from conjoin.kernel.inbox.due import TRY, what_is_due
from conjoin.kernel.inbox.message import PARKED, UNCERTAIN
from conjoin.kernel.inbox.run import states_in_plan
from conjoin.kernel.inbox.settings import FAIL_FIRST, STRICT
from conjoin.runtime.inbox.rows import Filed, read_row
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import InboxRow

LEAST_DEPTH = 10
"""So many messages of a group are read at least, unless its batches are smaller."""


class DueGroup(NamedTuple):
    members: dict[int, Filed]
    cut_at: str | None = None
    """The position of the last one that was read in order, if there are more behind it."""
    next_due: int | None = None
    """When something happens to the first that was not read, as far as others do not hold it back."""


def look_at(
    snapshot: ShardSnapshot, groups: Sequence[str], horizon: int, settings: InboxSettings, depth: int
) -> dict[str, DueGroup]:
    """All groups at once; of each so many messages that can be tried, at most."""
    if settings.mode == FAIL_FIRST:
        lines = _by_group(groups, snapshot.inbox_line(groups, depth + 1))
        looks = {group: _first_in_line(rows, depth) for group, rows in lines.items()}
    else:
        looks = _due(snapshot, groups, horizon, depth)
    others = list(snapshot.inbox_uncertain(groups, depth))
    if settings.group_gate == STRICT:
        others += snapshot.inbox_gatekeepers(groups, horizon)
    if settings.exhausted_blocks:
        others += snapshot.inbox_parked(groups, horizon)
    for row in others:
        looks[row.group_key].members.setdefault(row.key, read_row(row))
    return looks


def _first_in_line(rows: list[InboxRow], depth: int) -> DueGroup:
    rows.sort(key=lambda row: (row.place, row.key))
    cut_at = rows[depth - 1].place if len(rows) > depth else None
    return DueGroup({row.key: read_row(row) for row in rows[:depth]}, cut_at)


def _due(snapshot: ShardSnapshot, groups: Sequence[str], horizon: int, depth: int) -> dict[str, DueGroup]:
    looks = {}
    next_due = snapshot.inbox_next_due(groups, horizon)
    for group, rows in _by_group(groups, snapshot.inbox_due_rows(groups, horizon, depth + 1)).items():
        cut_at = None
        if len(rows) > depth:
            # More are due than can be tried at once: those that come first in line go first.
            rows = list(snapshot.inbox_line_due(group, horizon, depth))
            cut_at = rows[-1].place
        looks[group] = DueGroup({row.key: read_row(row) for row in rows}, cut_at, next_due.get(group))
    return looks


def _by_group(groups: Sequence[str], rows: Iterable[InboxRow]) -> dict[str, list[InboxRow]]:
    found: dict[str, list[InboxRow]] = {group: [] for group in groups}
    for row in rows:
        found[row.group_key].append(row)
    return found


def to_plan(messages: Iterable[InboxMessage], horizon: int, settings: InboxSettings) -> list[InboxMessage]:
    """Without those that this run has tried: a strict gate that was open when it began stays open for all of it."""
    if settings.mode == FAIL_FIRST:
        return list(messages)
    return [message for message in messages if message.tried_at is None or message.tried_at < horizon]


def rests_until(
    look: DueGroup, after: Iterable[Filed], horizon: int, settings: InboxSettings, more_at: int
) -> int | None:
    """When a group is looked at again, given its members as a run has left them; not before `more_at`.

    That is the horizon itself if the same run may go on with those that can be tried still.
    """
    line = [filed for filed in after if filed.message.state in states_in_plan(settings)]
    if not line and look.cut_at is None:
        return look.next_due
    line.sort(key=lambda filed: (filed.place, filed.message.key))
    if plan((filed.message for filed in line), horizon, settings).tries:
        return more_at
    due_at = _happens_at(look, line, horizon, settings)
    return None if due_at is None else max(due_at, more_at)


def _happens_at(look: DueGroup, line: Sequence[Filed], horizon: int, settings: InboxSettings) -> int | None:
    """The next thing that happens by itself, if none of those that were read can be tried."""
    messages = [filed.message for filed in line]
    # What our own engine has been offered does not lapse: every run looks for its answer.
    uncertain = [
        horizon + 1 if filed.message_key else due_at_of(filed.message, settings)
        for filed in line
        if filed.message.state == UNCERTAIN
    ]
    gatekeepers = _gatekeepers(messages, horizon, settings)
    # A strict gate opens when the last of those that keep it shut is due.
    opens = [due_at_of(message, settings) for message in gatekeepers if message.state != UNCERTAIN]
    opens_at = None if None in opens else max((at for at in opens if at is not None), default=None)
    gate_opens_at = _earliest(*uncertain, opens_at)
    if _gatekeepers(to_plan(messages, horizon, settings), horizon, settings):
        return gate_opens_at
    if look.cut_at is not None and (settings.mode != FAIL_FIRST or not line or line[0].place > look.cut_at):
        return horizon
    if gatekeepers:
        return gate_opens_at
    # What stands behind the first has to wait for it.
    decisive = messages[:1] if settings.mode == FAIL_FIRST else messages
    return _earliest(look.next_due, *uncertain, *(due_at_of(message, settings) for message in decisive))


def _gatekeepers(messages: Iterable[InboxMessage], horizon: int, settings: InboxSettings) -> list[InboxMessage]:
    """Those that keep a strict gate shut."""
    if settings.group_gate != STRICT:
        return []
    return [
        message
        for message in messages
        if (message.attempts or message.state in (UNCERTAIN, PARKED)) and what_is_due(message, horizon, settings) != TRY
    ]


def _earliest(*instants: int | None) -> int | None:
    return min((at for at in instants if at is not None), default=None)
