"""Every store: the rows that say in which instance to look and what is due, and the letters between shards."""

from conjoin.store import tables as t
from conjoin.store.port import ShardStore
from conjoin.store.rows import LogRow, OutboxRow, PositionRow, ReceivedRow, ScopeRow, SignalRow
from tests.store.samples import a_row, commit, incident, instance, job, reading, set_aside, timer


def test_jobs_timers_incidents_and_scopes_know_their_instances(shard: ShardStore) -> None:
    commit(
        shard,
        {
            t.JOB: [job(1, instance_key=100), job(2, instance_key=200)],
            t.TIMER: [timer(1, instance_key=300)],
            t.INCIDENT: [incident(1, instance_key=400)],
            t.SCOPE: [ScopeRow(1, 500)],
        },
    )
    with reading(shard) as snapshot:
        assert snapshot.instances_of(t.JOB, [1, 2, 3]) == {1: 100, 2: 200}
        assert snapshot.instances_of(t.TIMER, [1]) == {1: 300}
        assert snapshot.instances_of(t.INCIDENT, [1]) == {1: 400}
        assert snapshot.instances_of(t.SCOPE, [1]) == {1: 500}


def test_an_element_instance_is_found_in_the_body_of_its_instance(shard: ShardStore) -> None:
    commit(
        shard,
        {
            t.INSTANCE: [
                instance(90, body='{"tokens": [4711]}'),
                instance(100, body='{"tokens": [4711]}'),
                instance(200, body='{"tokens": [4711]}', state="completed"),
                instance(5000, body='{"about": 4711}'),
                instance(300, body='{"tokens": [4712]}'),
            ]
        },
    )
    with reading(shard) as snapshot:
        assert snapshot.instances_mentioning(4711, 100) == [100]
        assert snapshot.instances_mentioning(9, 0) == []
        assert snapshot.those_mentioning(4711, [100, 200, 300, 999]) == [100]


def test_a_block_of_the_log_is_found_by_its_version_unless_it_is_empty(shard: ShardStore) -> None:
    with reading(shard) as snapshot:
        assert (snapshot.log_ends(), snapshot.log_from(1)) == ((0, 0), None)
    commit(shard, {t.LOG: [LogRow(3, 0, 10, b"[1]"), LogRow(4, 0, 10, b"[]"), LogRow(6, 0, 10, b"[2]")]})
    with reading(shard) as snapshot:
        assert snapshot.log_ends() == (3, 6)
        assert [snapshot.log_from(version) for version in (1, 3, 4, 7)] == [(3, b"[1]"), (3, b"[1]"), (6, b"[2]"), None]


def test_ready_jobs_are_those_of_their_type_and_tenant_oldest_first(shard: ShardStore) -> None:
    commit(
        shard,
        {
            t.JOB: [
                *(job(9), job(3), job(5)),
                *(job(1, type="other"), job(2, tenant_id="other"), job(4, state="activated")),
            ]
        },
    )
    with reading(shard) as snapshot:
        assert [row.key for row in snapshot.ready_jobs("acme", "payment", 2)] == [3, 5]
        assert [row.key for row in snapshot.ready_jobs("acme", "payment", 9)] == [3, 5, 9]


def test_due_jobs_come_by_instant(shard: ShardStore) -> None:
    commit(shard, {t.JOB: [job(1, due_at=50), job(2, due_at=40), job(3), job(4, due_at=51)]})
    with reading(shard) as snapshot:
        assert [row.key for row in snapshot.due_jobs(50, 9)] == [2, 1]
        assert [row.key for row in snapshot.due_jobs(50, 1)] == [2]


def test_due_timers_come_by_instant_and_then_by_key(shard: ShardStore) -> None:
    commit(shard, {t.TIMER: [timer(4, due_at=40), timer(1, due_at=50), timer(2, due_at=40), timer(3, due_at=51)]})
    with reading(shard) as snapshot:
        assert [row.key for row in snapshot.due_timers(50, 9)] == [2, 4, 1]
        assert [row.key for row in snapshot.due_timers(50, 2)] == [2, 4]


def test_tables_with_something_due_are_named(shard: ShardStore) -> None:
    commit(shard, {t.TIMER: [timer(4, due_at=40)], t.JOB: [job(1, due_at=50), job(2)]})
    with reading(shard) as snapshot:
        assert list(snapshot.due_tables(39)) == []
        assert list(snapshot.due_tables(40)) == [t.TIMER]
        assert list(snapshot.due_tables(50)) == [t.TIMER, t.JOB]


def test_what_is_set_aside_is_not_due(shard: ShardStore) -> None:
    kinds = {"timer": t.TIMER, "job": t.JOB, "message": t.MESSAGE}
    rows = {table: [a_row(table, {"key": key, "due_at": 40}) for key in (1, 2)] for table in kinds.values()}
    away = [set_aside(10 + number, kind=kind, item_key=1) for number, kind in enumerate(kinds)]
    commit(shard, {**rows, t.SET_ASIDE: away})
    with reading(shard) as snapshot:
        found = (snapshot.due_timers(50, 9), snapshot.due_jobs(50, 9), snapshot.due_messages(50, 9))
        assert [[row.key for row in some] for some in found] == [[2], [2], [2]]
        assert list(snapshot.due_tables(50)) == [t.TIMER, t.JOB, t.MESSAGE]
        assert [row.key for row in snapshot.timers([2, 1, 3])] == [row.key for row in snapshot.jobs([2, 1])] == [1, 2]
    commit(shard, {t.SET_ASIDE: [set_aside(20 + number, kind=kind, item_key=2) for number, kind in enumerate(kinds)]})
    with reading(shard) as snapshot:
        assert list(snapshot.due_tables(50)) == []


def test_what_is_set_aside_is_found_by_what_it_is_and_when_it_is_tried_again(shard: ShardStore) -> None:
    rows = [set_aside(1, kind="timer", item_key=7, next_try_at=30), set_aside(2, next_try_at=20)]
    rows += [set_aside(3, next_try_at=None), set_aside(4, next_try_at=None, state="deleted")]
    commit(shard, {t.SET_ASIDE: rows})
    with reading(shard) as snapshot:
        assert list(snapshot.set_aside([1, 9])) == list(snapshot.set_aside_of("timer", 7)) == [rows[0]]
        assert (list(snapshot.set_aside_due(19, 9)), list(snapshot.set_aside_due(30, 9))) == ([], [2, 1])
        assert snapshot.set_aside_count() == 3


def test_what_is_set_aside_and_gone_is_found(shard: ShardStore) -> None:
    """Gone, there, due later than it was tried, of another kind, deleted, mail."""
    rows = [set_aside(1, kind="timer", item_key=7), set_aside(2, kind="timer", item_key=8)]
    rows += [set_aside(3, kind="timer", item_key=9), set_aside(4, kind="job", item_key=8)]
    rows += [set_aside(5, kind="timer", item_key=6, state="deleted"), set_aside(6, kind="mail", item_key=5)]
    rows = [row._replace(tried_at=40) for row in rows]
    commit(shard, {t.SET_ASIDE: rows, t.TIMER: [timer(8, due_at=40), timer(9, due_at=41)]})
    with reading(shard) as snapshot:
        assert (list(snapshot.set_aside_gone(9)), list(snapshot.set_aside_gone(1))) == ([1, 3, 4], [1])


def test_start_timers_are_those_of_no_instance(shard: ShardStore) -> None:
    start = timer(1, instance_key=0)
    others = timer(2), timer(3, instance_key=0, process_id="other"), timer(4, instance_key=0, tenant_id="other")
    commit(shard, {t.TIMER: [start, *others]})
    with reading(shard) as snapshot:
        assert snapshot.start_timers("acme", "order") == [start]


def test_signal_instances_are_named_once(shard: ShardStore) -> None:
    waits = [SignalRow(1, 300, "acme", "stop"), SignalRow(2, 100, "acme", "stop"), SignalRow(3, 100, "acme", "stop")]
    others = [SignalRow(4, 400, "acme", "go"), SignalRow(5, 500, "other", "stop")]
    commit(shard, {t.SIGNAL: waits + others})
    with reading(shard) as snapshot:
        assert snapshot.signal_instances("acme", "stop") == [100, 300]


def test_the_outbox_is_read_by_receiver_in_the_order_of_sending(shard: ShardStore) -> None:
    sent = [OutboxRow(seq, seq % 2, 9, f'"order {seq}"') for seq in range(8, 0, -1)]
    commit(shard, {t.OUTBOX: sent, t.RECEIVED: [ReceivedRow(1, 12), ReceivedRow(4, 3)]})
    with reading(shard) as snapshot:
        assert [row.seq for row in snapshot.outbox(1, 1, 9)] == [3, 5, 7]
        assert [row.seq for row in snapshot.outbox(1, 1, 2)] == [3, 5]
        assert snapshot.received() == {1: 12, 4: 3}


def test_positions_are_kept_by_source_and_part(shard: ShardStore) -> None:
    commit(
        shard,
        {t.POSITION: [PositionRow("orders", "0", "42"), PositionRow("orders", "1", "7"), PositionRow("x", "0", "1")]},
    )
    with reading(shard) as snapshot:
        assert snapshot.position("orders") == {"0": "42", "1": "7"}
        assert snapshot.position("unknown") == {}
