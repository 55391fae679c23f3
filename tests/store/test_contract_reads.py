"""Every store: what a snapshot finds, and what it leaves out."""

from conjoin.store import tables as t
from conjoin.store.port import IdHolder, ShardStore
from conjoin.store.rows import PositionRow
from tests.store.samples import (
    LARGEST,
    ODD_TEXTS,
    commit,
    instance,
    lock,
    message,
    reading,
    subscription,
)


def test_a_new_shard_is_empty_and_at_version_0(shard: ShardStore) -> None:
    with reading(shard) as snapshot:
        assert (snapshot.head.version, snapshot.head.time, snapshot.head.sent) == (0, 0, 0)
        assert snapshot.key_rows("acme", ["order-1"], 10, 1_000) == ([], [], [], [])
        assert snapshot.received() == {}


def test_key_rows_are_those_of_the_tenant_and_the_keys_asked_for(shard: ShardStore) -> None:
    here = subscription(1), subscription(2, correlation_key="order-2", closed_at=30)
    others = subscription(3, tenant_id="other"), subscription(4, correlation_key="order-3")
    commit(
        shard,
        {
            t.APART: [*here, *others],
            t.MESSAGE: [message(5), message(6, tenant_id="other"), message(7, correlation_key="order-3")],
            t.LOCK: [lock("order-2"), lock("order-2", tenant_id="other"), lock("order-3")],
        },
    )
    with reading(shard) as snapshot:
        found = snapshot.key_rows("acme", ["order-1", "order-2", "order-9"], 10, 1_000)
    assert sorted(found.subscriptions) == sorted(here)
    assert found.messages == [message(5)]
    assert found.locks == [lock("order-2")]


def test_messages_that_are_no_longer_live_are_not_among_the_key_rows(shard: ShardStore) -> None:
    commit(shard, {t.MESSAGE: [message(1, live=0), message(2)]})
    with reading(shard) as snapshot:
        assert snapshot.key_rows("acme", ["order-1"], 10, 1_000).messages == [message(2)]


def test_of_each_key_only_so_many_messages_are_found_and_those_are_the_oldest(shard: ShardStore) -> None:
    many = [message(key, correlation_key=f"order-{key % 2}") for key in range(20, 0, -1)]
    commit(shard, {t.MESSAGE: many})
    with reading(shard) as snapshot:
        found = snapshot.key_rows("acme", ["order-0", "order-1"], 3, 1_000).messages
    assert [row.key for row in found] == [1, 2, 3, 4, 5, 6]


def test_live_messages_of_one_name_can_be_read_on_from_a_key(shard: ShardStore) -> None:
    rows = [message(key, name="paid" if key % 3 else "shipped", live=key % 2) for key in range(1, 30)]
    commit(shard, {t.MESSAGE: rows})
    with reading(shard) as snapshot:
        found = snapshot.live_messages("acme", "order-1", "paid", 5, 4)
        assert snapshot.live_messages("other", "order-1", "paid", 5, 4) == []
    assert [row.key for row in found] == [7, 11, 13, 17]


def test_messages_with_an_id_are_the_live_ones_of_that_name_and_key(shard: ShardStore) -> None:
    same = {"message_id": "m-1"}
    commit(
        shard,
        {
            t.MESSAGE: [
                *(message(9, **same), message(2, **same), message(3, live=0, **same)),
                *(message(4, name="shipped", **same), message(5, correlation_key="order-2", **same)),
                *(message(6, message_id="m-2"), message(7, tenant_id="other", **same)),
            ]
        },
    )
    with reading(shard) as snapshot:
        assert [row.key for row in snapshot.messages_with_id("acme", "order-1", "paid", "m-1")] == [2, 9]


def test_messages_with_a_business_id_are_the_live_ones_of_any_name_and_key(shard: ShardStore) -> None:
    same = {"business_id": "b-1"}
    commit(
        shard,
        {
            t.MESSAGE: [
                *(message(9, **same), message(2, **same), message(3, live=0, **same)),
                *(message(4, name="shipped", **same), message(5, correlation_key="order-2", **same)),
                *(message(6, business_id="b-2"), message(7, tenant_id="other", **same), message(8)),
            ]
        },
    )
    with reading(shard) as snapshot:
        assert [row.key for row in snapshot.messages_with_business_id("acme", "b-1", 0, 10)] == [2, 4, 5, 9]
        assert [row.key for row in snapshot.messages_with_business_id("acme", "b-1", 4, 1)] == [5]


def test_holders_of_business_ids_are_active_and_called_by_nobody(shard: ShardStore) -> None:
    same = {"business_id": "b-1"}
    commit(
        shard,
        {
            t.INSTANCE: [
                *(instance(1, **same), instance(2, process_id="ticket", **same), instance(3, business_id="b-2")),
                *(instance(4, state="completed", ended_at=9, **same), instance(5, parent_key=1, tree_key=1, **same)),
                *(instance(6, tenant_id="other", **same), instance(7), instance(8, business_id="b-3")),
            ]
        },
    )
    with reading(shard) as snapshot:
        found = snapshot.id_holders("acme", ["b-1", "b-2", "b-9"])
    assert sorted(found) == [IdHolder("b-1", "order", 1), IdHolder("b-1", "ticket", 2), IdHolder("b-2", "order", 3)]


def test_messages_are_found_by_their_keys_live_or_not(shard: ShardStore) -> None:
    commit(shard, {t.MESSAGE: [message(1), message(2, live=0), message(3)]})
    with reading(shard) as snapshot:
        assert sorted(snapshot.messages([1, 2, 9])) == [message(1), message(2, live=0)]


def test_held_messages_are_those_of_the_key_that_wait_for_an_answer(shard: ShardStore) -> None:
    held = {"verdict": "buffered", "reason": "busy"}
    others = message(3, reason="nobody_waits"), message(4, live=0, **held), message(5, correlation_key="o-2", **held)
    commit(shard, {t.MESSAGE: [message(2, **held), message(1, **held), *others, message(6, tenant_id="other", **held)]})
    with reading(shard) as snapshot:
        assert [row.key for row in snapshot.held_messages("acme", message(1).correlation_key)] == [1, 2]


def test_due_messages_come_by_instant_and_then_by_key(shard: ShardStore) -> None:
    dues = {1: 50, 2: 40, 3: None, 4: 40, 5: 60, 6: 45}
    commit(shard, {t.MESSAGE: [message(key, due_at=due) for key, due in dues.items()]})
    with reading(shard) as snapshot:
        assert [row.key for row in snapshot.due_messages(50, 10)] == [2, 4, 6, 1]
        assert [row.key for row in snapshot.due_messages(50, 2)] == [2, 4]


def test_an_instance_comes_with_the_outermost_one_around_it(shard: ShardStore) -> None:
    tree = [
        instance(100),
        instance(110, tree_key=100, parent_key=100),
        instance(120, tree_key=100, parent_key=110),
    ]
    commit(shard, {t.INSTANCE: [*tree, instance(200), instance(210, tree_key=200, parent_key=200)]})
    with reading(shard) as snapshot:
        assert snapshot.instances([100]) == [instance(100)]
        assert sorted(snapshot.instances([120])) == [tree[0], tree[2]]
        assert sorted(snapshot.instances([120, 110, 999])) == tree
        assert sorted(snapshot.instances([120, 110, 100, 999])) == tree


def test_an_instance_that_has_ended_is_not_found(shard: ShardStore) -> None:
    ended = {"state": "completed", "ended_at": 30}
    commit(
        shard, {t.INSTANCE: [instance(100), instance(110, tree_key=100, parent_key=100, **ended), instance(2, **ended)]}
    )
    with reading(shard) as snapshot:
        assert snapshot.instances([100, 2]) == [instance(100)]


def test_of_each_key_so_many_subscriptions_are_read_at_most(shard: ShardStore) -> None:
    commit(shard, {t.APART: [subscription(n, correlation_key=f"order-{n % 2}") for n in range(10)]})
    with reading(shard) as snapshot:
        found = snapshot.key_rows("acme", ["order-0", "order-1", "order-9"], 10, 3).subscriptions
    assert sorted(row.key for row in found) == [0, 1, 2, 3, 4, 5]


def test_subscriptions_are_found_by_their_keys_under_a_correlation_key(shard: ShardStore) -> None:
    commit(shard, {t.APART: [subscription(1), subscription(2, correlation_key="order-2"), subscription(3)]})
    with reading(shard) as snapshot:
        assert snapshot.subscriptions("acme", "order-1", [2, 3, 4]) == [subscription(3)]
        assert snapshot.subscriptions("other", "order-1", [3]) == []


def test_a_crowd_is_read_in_its_order_by_what_each_of_them_does(shard: ShardStore) -> None:
    idle = [subscription(n, crowd=f"{9 - n}", busy_with=0, closed_at=None) for n in range(5)]
    busy = subscription(5, crowd="6", busy_with=7, closed_at=None)
    kept = subscription(6, crowd="6", busy_with=0, closed_at=30)
    awaiting = subscription(7, crowd="6", busy_with=7, closed_at=30)
    no_crowd = subscription(8, crowd="", busy_with=0, closed_at=None)
    elsewhere = subscription(9, crowd="6", busy_with=0, closed_at=None, correlation_key="order-2")
    commit(shard, {t.APART: [*idle, busy, kept, awaiting, no_crowd, elsewhere]})
    with reading(shard) as snapshot:
        place = ("acme", "order-1")
        assert [row.key for row in snapshot.crowd("idle", *place, ("5", "a"), 10)] == [3, 2, 1, 0]
        assert [row.key for row in snapshot.crowd("idle", *place, ("5", "8"), 1)] == [3]
        assert snapshot.crowd("busy", *place, ("", "a"), 10) == [busy]
        assert snapshot.crowd("kept", *place, ("", "a"), 10) == [kept]
        assert snapshot.crowd("idle", "other", "order-1", ("", "a"), 10) == []


def test_thousands_of_keys_are_read_at_once(shard: ShardStore) -> None:
    count = 5_000
    waits = [subscription(n, correlation_key=f"order-{n}", instance_key=10_000 + n) for n in range(count)]
    commit(shard, {t.APART: waits, t.INSTANCE: [instance(10_000 + n) for n in range(count)]})
    asked = [f"order-{n}" for n in range(0, 2 * count, 2)]
    with reading(shard) as snapshot:
        assert len(snapshot.key_rows("acme", asked, 1, 1_000).subscriptions) == count // 2
        assert len(snapshot.instances(range(10_000, 10_000 + 2 * count))) == count


def test_texts_of_any_kind_come_back_as_they_were(shard: ShardStore) -> None:
    rows = [subscription(n, correlation_key=text, business_id=text) for n, text in enumerate(ODD_TEXTS)]
    commit(shard, {t.APART: rows, t.POSITION: [PositionRow("ü", text, text) for text in ODD_TEXTS]})
    with reading(shard) as snapshot:
        assert sorted(snapshot.key_rows("acme", ODD_TEXTS, 1, 1_000).subscriptions) == sorted(rows)
        assert [snapshot.key_rows("acme", [row.correlation_key], 1, 1_000).subscriptions for row in rows] == [
            [row] for row in rows
        ]
        assert snapshot.position("ü") == {text: text for text in ODD_TEXTS}


def test_the_largest_integers_come_back_as_they_were(shard: ShardStore) -> None:
    commit(shard, {t.INSTANCE: [instance(LARGEST, started_at=LARGEST)], t.MESSAGE: [message(LARGEST, due_at=LARGEST)]})
    with reading(shard) as snapshot:
        assert snapshot.instances([LARGEST, LARGEST - 1]) == [instance(LARGEST, started_at=LARGEST)]
        assert snapshot.due_messages(LARGEST - 1, 9) == []
        assert snapshot.due_messages(LARGEST, 9) == [message(LARGEST, due_at=LARGEST)]
