"""The reads of explanations: who waits with nearly a key, and which instances hold a value. None is unbounded.

Who waits stands in an index in the order of the keys. An instance is found by a value only among the newest: of those
that are active, those that have work, and those with a timer. How long a body is, is known before it is read.
"""

from conjoin.store.rows import WaitingRow

WAITING_COLUMNS = (
    *("wait_on", "wait_name", "process_id", "key", "wait_element_id", "wait_opened_at", "started_at", "wait_key"),
    "closed_waits",
)
"""Of an instance with a subscription in its own row, in the order of `WaitingRow`."""
assert len(WAITING_COLUMNS) == len(WaitingRow._fields)

_HAS = "{find}(t.body, {p}) > 0"
HOLDING = (
    "t.key, {size}(t.body), case when {size}(t.body) > {p} then null"
    f" when {_HAS} then 2 when {_HAS} and ({_HAS} or {_HAS} or {_HAS}) then 1 when {_HAS} then 1 else 0 end"
)
"""The size of a body; and, if it is not too large, if it has the first of the texts, one of the others, or none."""
OF_PROCESSES = "t.state = 'active' and t.tenant_id = {p} and t.process_id in (select many.value from {texts})"
EXPLAINING: dict[str, str] = {
    "waiting_from": f"select {', '.join(f't.{column}' for column in WAITING_COLUMNS)} from instance as t"
    " where t.tenant_id = {p} and t.wait_on > {p} and t.wait_on is not null order by {wait_on} limit {p}",
    "apart_from": "select t.correlation_key, t.name, t.process_id, t.instance_key, t.element_id, t.opened_at, 0,"
    " case when t.closed_at is null then t.key else 0 end, '[]' from subscription_apart as t"
    " where t.tenant_id = {p} and t.correlation_key > {p} order by {correlation_key}, t.key limit {p}",
    # So many of the newest are looked at, however many of them have evidence already.
    "newest_lost": "select t.key from message as t where t.key in (select m.key from message as m"
    " where m.verdict = {p} and m.verdict <> 'correlated' order by m.key desc limit {p}) and t.decided_at >= {p}"
    " and not exists (select 1 from evidence as e where e.message_key = t.key and e.seen_at > 0) order by t.key desc",
    # What was seen first stays, and a message that is gone has none.
    "keep_evidence": "insert into evidence (message_key, seen_at, near, replaced_by, replaces)"
    " select {p}, {p}, {p}, {p}, {p} from message where key = {p} on conflict (message_key) do update set"
    " seen_at = case when evidence.seen_at = 0 then excluded.seen_at else evidence.seen_at end,"
    " near = case when evidence.seen_at = 0 then excluded.near else evidence.near end,"
    " replaced_by = case when excluded.replaced_by = 0 then evidence.replaced_by else excluded.replaced_by end,"
    " replaces = case when excluded.replaces = 0 then evidence.replaces else excluded.replaces end",
    "newest_active": "select key from instance where state = 'active' and state <> 'completed' and key < {p}"
    " order by key desc limit {p}",
    "newest_at_work": "select instance_key from job where key < {p} order by key desc limit {p}",
    "newest_timed": "select instance_key from timer where key < {p} order by key desc limit {p}",
}
NEWEST = ("newest_active", "newest_at_work", "newest_timed")
