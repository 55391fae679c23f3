"""The statements that both databases share: the reads of a snapshot, by name. See `port.py` for what each answers.

`{texts}` and `{numbers}` are a table `many` of the values of one parameter: a bulk read is one statement, whatever its
size. It stands first in a cross join, so that each value is looked up and the large table is never walked. Inbox reads
name the groups or keys they are about and have a limit, so rows that are parked or have ended make no difference.
"""

from typing import NamedTuple

from conjoin.store import tables as t
from conjoin.store.sql.explaining import EXPLAINING, HOLDING, OF_PROCESSES, WAITING_COLUMNS
from conjoin.store.tables import Table

ON_KEYS = "t.correlation_key = many.value and t.tenant_id = {p}"
WAITING_ON = "t.wait_on = many.value and t.wait_on is not null and t.tenant_id = {p}"
_BY_KEY = "t.key = many.value"
_ON_ONE_KEY = ON_KEYS.replace("many.value", "{p}")
_DUE = (t.TIMER, t.JOB, t.MESSAGE)
OWNED = (t.JOB, t.INCIDENT)
"""An order names one of these, and is for the instance that it is in."""


def _due(table: Table) -> str:
    set_aside = f"select 1 from set_aside as a where a.kind = '{table.name}' and a.item_key = t.key"
    return f"from {table.name} as t where t.due_at <= {{p}} and not exists ({set_aside})"


def _gone(table: Table) -> str:
    still = f"select 1 from {table.name} as t where t.key = a.item_key and t.due_at <= a.tried_at"
    return f"(a.kind = '{table.name}' and not exists ({still}))"


class Lookup(NamedTuple):
    """All rows that belong to each of many values; `columns` are all of the table's unless they are named, or
    `expressions` are made of them.
    """

    table: Table
    many: str
    condition: str
    columns: tuple[str, ...] = ()
    expressions: str = ""


LOOKUPS: dict[str, Lookup] = {
    "subscriptions_by_key": Lookup(
        t.APART, "numbers", f"{_BY_KEY} and t.correlation_key = {{p}} and t.tenant_id = {{p}}"
    ),
    "evidence": Lookup(t.EVIDENCE, "numbers", "t.message_key = many.value"),
    "messages_by_key": Lookup(t.MESSAGE, "numbers", _BY_KEY),
    "waiting": Lookup(t.INSTANCE, "texts", WAITING_ON),
    "waiting_on": Lookup(t.INSTANCE, "texts", WAITING_ON, WAITING_COLUMNS),
    "holding": Lookup(t.INSTANCE, "numbers", f"{_BY_KEY} and {OF_PROCESSES}", expressions=HOLDING),
    "not_larger": Lookup(t.INSTANCE, "numbers", f"{_BY_KEY} and {{size}}(t.body) <= {{p}}", ("key",)),
    "locks": Lookup(t.LOCK, "texts", ON_KEYS),
    "instances": Lookup(t.INSTANCE, "numbers", _BY_KEY),
    "timers": Lookup(t.TIMER, "numbers", _BY_KEY),
    "jobs": Lookup(t.JOB, "numbers", _BY_KEY),
    "set_aside": Lookup(t.SET_ASIDE, "numbers", _BY_KEY),
    "dead_letters": Lookup(t.DEAD_LETTER, "numbers", _BY_KEY),
    "id_holders": Lookup(
        t.INSTANCE,
        "texts",
        "t.business_id = many.value and t.business_id <> '' and t.state = 'active' and t.tenant_id = {p}"
        " and t.parent_key = 0",
        ("business_id", "process_id", "key"),
    ),
    "positions": Lookup(t.POSITION, "texts", "t.part = many.value and t.source = {p}", ("part", "position")),
    "mentioning_of": Lookup(
        t.INSTANCE, "numbers", f"{_BY_KEY} and t.state = 'active' and {{find}}(t.body, {{p}}) > 0", ("key",)
    ),
    **{
        f"instances_of_{table.name}": Lookup(table, "numbers", _BY_KEY, ("key", "instance_key"))
        for table in (t.JOB, t.TIMER, t.INCIDENT, t.SCOPE)
    },
    "inbox_rows": Lookup(t.INBOX, "numbers", _BY_KEY),
    "inbox_with_ids": Lookup(t.INBOX, "texts", "t.message_id = many.value and t.channel = {p} and t.tenant_id = {p}"),
    "inbox_contents": Lookup(t.INBOX_CONTENT, "numbers", _BY_KEY),
    "inbox_attempts": Lookup(t.INBOX_ATTEMPT, "numbers", "t.inbox_key = many.value"),
    "inbox_groups": Lookup(t.INBOX_GROUP, "texts", "t.group_key = many.value"),
}
FIRST_OF_GROUPS: dict[str, str] = {
    "inbox_line": "t.in_line = 1 order by t.place, t.key limit {p}",
    "inbox_due_rows": "t.in_line = 1 and t.due_at <= {p} order by t.due_at, t.key limit {p}",
    "inbox_last_to_come": "t.in_line = 1 and t.attempts > 0 and t.due_at > {p} order by t.due_at desc limit 1",
    "inbox_stuck": "t.in_line = 1 and t.attempts > 0 and t.due_at is null limit 1",
    "inbox_uncertain": "t.state = 'uncertain' order by t.key limit {p}",
    "inbox_parked": "t.state = 'parked' and (t.expires_at is null or t.expires_at > {p})"
    " order by t.place, t.key limit 1",
}
"""The first rows of the inbox of each of many groups, in some order."""
_CROWD = {
    "idle": "t.busy_with = 0 and t.closed_at is null",
    "busy": "t.busy_with <> 0 and t.closed_at is null",
    "kept": "t.busy_with = 0 and t.closed_at is not null",
}
"""Each has an index of its own."""
SUBSCRIPTIONS = (
    # A limit for each key, as for messages.
    f"from {{texts}} cross join subscription_apart as t where {ON_KEYS} and t.key in (select s.key"
    " from subscription_apart as s where s.correlation_key = many.value and s.tenant_id = {p}"
    " order by s.key limit {p})"
)
READS: dict[str, tuple[Table, str]] = {
    "subscriptions": (t.APART, SUBSCRIPTIONS),
    "waiting_apart_on": (t.APART, SUBSCRIPTIONS),
    "messages": (
        t.MESSAGE,
        # A limit for each key: one key may have a million.
        "from {texts} cross join message as t where t.key in (select m.key from message as m"
        " where m.correlation_key = many.value and m.tenant_id = {p} and m.live = 1 order by m.key limit {p})"
        " order by t.key",
    ),
    "live_messages": (
        t.MESSAGE,
        "from message as t where t.correlation_key = {p} and t.tenant_id = {p} and t.live = 1 and t.name = {p}"
        " and t.key > {p} order by t.key limit {p}",
    ),
    "held_messages": (
        t.MESSAGE,
        # By their reason, of which there are few; by the key there may be a million, so its index is made useless.
        "from message as t where t.reason = 'busy' and t.verdict <> 'correlated' and t.live = 1"
        " and t.correlation_key || '' = {p} and t.tenant_id = {p} order by t.key",
    ),
    "messages_with_id": (
        t.MESSAGE,
        "from message as t where t.correlation_key = {p} and t.tenant_id = {p} and t.live = 1 and t.name = {p}"
        " and t.message_id = {p} and t.message_id <> '' order by t.key",
    ),
    "messages_with_business_id": (
        t.MESSAGE,
        "from message as t where t.business_id = {p} and t.business_id <> '' and t.tenant_id = {p} and t.live = 1"
        " and t.key > {p} order by t.key limit {p}",
    ),
    **{f"due_{it.name}s": (it, f"{_due(it)} order by t.due_at, t.key limit {{p}}") for it in _DUE},
    "ready_jobs": (
        t.JOB,
        "from job as t where t.type = {p} and t.tenant_id = {p} and t.state = 'ready' order by t.key limit {p}",
    ),
    **{
        f"instances_with_{table.name}": (
            t.INSTANCE,
            f"from {{numbers}} cross join {table.name} as o cross join instance as t"
            " where o.key = many.value and t.key = o.instance_key",
        )
        for table in OWNED
    },
    "set_aside_of": (t.SET_ASIDE, "from set_aside as t where t.kind = {p} and t.item_key = {p}"),
    "start_timers": (
        t.TIMER,
        "from timer as t where t.process_id = {p} and t.tenant_id = {p} and t.instance_key = 0 order by t.key",
    ),
    "outbox": (t.OUTBOX, "from outbox as t where t.receiver = {p} and t.seq > {p} order by t.seq limit {p}"),
    **{
        f"crowd_{kind}": (
            t.APART,
            "from subscription_apart as t where t.correlation_key = {p} and t.tenant_id = {p} and t.crowd > {p}"
            f" and t.crowd < {{p}} and t.crowd <> '' and {condition} order by t.crowd limit {{p}}",
        )
        for kind, condition in _CROWD.items()
    },
    "inbox_line_due": (
        t.INBOX,
        # Written so that no database looks for what is due first, and then sorts all of it.
        "from inbox as t where t.group_key = {p} and t.in_line = 1 and coalesce(t.due_at, 9223372036854775807) <= {p}"
        " order by t.place, t.key limit {p}",
    ),
    "inbox_expired": (
        t.INBOX,
        "from inbox as t where t.expires_at <= {p} and t.decided_at is null and t.state <> 'uncertain'"
        " order by t.expires_at, t.key limit {p}",
    ),
    "inbox_over": (t.INBOX, "from inbox as t where t.decided_at < {p} order by t.decided_at, t.key limit {p}"),
    "inbox_groups_due": (
        t.INBOX_GROUP,
        "from inbox_group as t where t.reach = {p} and t.due_at <= {p} order by t.due_at, {group_key} limit {p}",
    ),
}
OF_ONE_KEY: dict[str, tuple[Table, str]] = {
    "subscriptions": (t.APART, f"{_ON_ONE_KEY} order by t.key limit {{p}}"),
    "messages": (t.MESSAGE, f"{_ON_ONE_KEY} and t.live = 1 order by t.key limit {{p}}"),
    "locks": (t.LOCK, _ON_ONE_KEY),
    "waiting": (t.INSTANCE, WAITING_ON.replace("many.value", "{p}")),
}
"""The same as for many correlation keys, for one: that is most of what a single publish costs."""
QUERIES: dict[str, str] = {
    **EXPLAINING,
    "head": "select version, next_key, time, sent from shard",
    "move_head": "update shard set version = {p}, next_key = {p}, time = {p}, sent = {p} where version = {p}",
    # Mostly there is none of it, which one statement says of all.
    "has_of_one": f"select exists(select 1 from subscription_apart as t where {_ON_ONE_KEY}),"
    f" exists(select 1 from message as t where {_ON_ONE_KEY} and t.live = 1),"
    f" exists(select 1 from start_lock as t where {_ON_ONE_KEY})",
    "due_tables": "select " + ", ".join(f"exists(select 1 {_due(table)})" for table in _DUE),
    "set_aside_count": "select count(*) from set_aside where state = 'waiting'",
    "set_aside_due": "select key from set_aside where next_try_at <= {p} order by next_try_at, key limit {p}",
    "set_aside_gone": "select a.key from set_aside as a where a.state = 'waiting' and ("
    + " or ".join(map(_gone, _DUE))
    + ") limit {p}",
    "signal_instances": "select distinct instance_key from signal where name = {p} and tenant_id = {p} order by 1",
    "received": "select sender, seq from received",
    "receivers": "select distinct receiver from outbox order by 1",
    "position": "select part, position from position where source = {p}",
    "mentioning": "select key from instance"
    " where key >= {p} and key < {p} and state = 'active' and {find}(body, {p}) > 0 order by key",
    "log_ends": "select (select min(version) from log), (select max(version) from log)",
    # An empty block has two bytes.
    "log_from": "select version, block from log where version >= {p} and length(block) > 2 order by version limit 1",
    "inbox_next_due": "select many.value, (select min(t.due_at) from inbox as t where t.group_key = many.value"
    " and t.in_line = 1 and t.due_at > {p}) from {texts}",
    "inbox_groups_in_line": "select min(t.group_key), max(t.target) from inbox as t where t.in_line = 1"
    " and t.group_key > {p} group by {group_key} order by {group_key} limit {p}",
    "inbox_states": "select state, count(*) from inbox group by state order by state",
}
