"""The reads of explanations: who waits with nearly a key, and which instances hold a value. None is unbounded.

Who waits stands in an index in the order of the keys. An instance is found by a value only among the newest: of those
that are active, those that have work, and those with a timer.
"""

from conjoin.store.rows import WaitingRow

WAITING_COLUMNS = (
    *("wait_on", "wait_name", "process_id", "key", "wait_element_id", "wait_opened_at", "started_at", "wait_key"),
    "closed_waits",
)
"""Of an instance with a subscription in its own row, in the order of `WaitingRow`."""
assert len(WAITING_COLUMNS) == len(WaitingRow._fields)

_HOLDS = "({find}(t.body, {p}) > 0 or {find}(t.body, {p}) > 0 or {find}(t.body, {p}) > 0)"
_NEWEST = {
    "active": "i.key from instance as i where i.state = 'active' and i.state <> 'completed' and i.key < {p}"
    " order by i.key desc limit {p}",
    "at_work": "i.instance_key from job as i where i.key < {p} order by i.key desc limit {p}",
    "timed": "i.instance_key from timer as i where i.key < {p} order by i.key desc limit {p}",
}
EXPLAINING: dict[str, str] = {
    "waiting_from": f"select {', '.join(f't.{column}' for column in WAITING_COLUMNS)} from instance as t"
    " where t.tenant_id = {p} and t.wait_on > {p} and t.wait_on is not null order by {wait_on} limit {p}",
    "apart_from": "select t.correlation_key, t.name, t.process_id, t.instance_key, t.element_id, t.opened_at, 0,"
    " case when t.closed_at is null then t.key else 0 end, '[]' from subscription_apart as t"
    " where t.tenant_id = {p} and t.correlation_key > {p} order by {correlation_key}, t.key limit {p}",
    **{
        f"holding_{kind}": f"select t.key from instance as t where t.key in (select {newest})"
        f" and t.state = 'active' and t.tenant_id = {{p}} and {_HOLDS} limit {{p}}"
        for kind, newest in _NEWEST.items()
    },
}
KINDS_HOLDING = tuple(_NEWEST)
