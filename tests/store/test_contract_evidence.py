"""Every store: evidence is kept beside the state, in transactions that are no commits."""

from conjoin.store import tables as t
from conjoin.store.port import Store
from conjoin.store.rows import EvidenceRow
from tests.store.samples import changes, commit, message, reading


def kept(store: Store) -> list[EvidenceRow]:
    return list(store.rows(t.EVIDENCE, {}, None, 99))


def test_evidence_moves_neither_the_head_nor_the_log(store: Store) -> None:
    head = commit(store.shard(0), {t.MESSAGE: [message(1)]})
    store.shard(0).reader().keep_evidence([EvidenceRow(1, 50, '[{"kind":"x"}]', 0, 0)])
    with reading(store.shard(0)) as snapshot:
        assert snapshot.head == head
        assert snapshot.log_ends() == (0, 0)
        assert snapshot.evidence([1, 2]) == [EvidenceRow(1, 50, '[{"kind":"x"}]', 0, 0)]
        assert snapshot.evidence([]) == []


def test_what_was_seen_first_stays_and_links_are_added(store: Store) -> None:
    commit(store.shard(0), {t.MESSAGE: [message(1)]})
    reader = store.shard(0).reader()
    for row in [
        EvidenceRow(1, 0, "", 7, 0),
        EvidenceRow(1, 50, "[1]", 0, 0),
        EvidenceRow(1, 60, "[2]", 0, 8),
        EvidenceRow(1, 0, "", 9, 0),
    ]:
        reader.keep_evidence([row])
    assert kept(store) == [EvidenceRow(1, 50, "[1]", 9, 8)]


def test_a_message_that_is_gone_has_no_evidence(store: Store) -> None:
    commit(store.shard(0), {t.MESSAGE: [message(1)]})
    store.shard(0).reader().keep_evidence([EvidenceRow(1, 50, "[]", 0, 0), EvidenceRow(2, 50, "[]", 0, 0)])
    assert [row.message_key for row in kept(store)] == [1]


def test_the_newest_lost_messages_without_evidence_are_found_by_their_verdict(store: Store) -> None:
    rows = [message(key, verdict="discarded", decided_at=10 * key) for key in range(1, 8)]
    rows += [message(9, verdict="buffered", decided_at=90), message(10, verdict="expired", decided_at=95)]
    commit(store.shard(0), {t.MESSAGE: rows})
    store.shard(0).reader().keep_evidence([EvidenceRow(6, 65, "[]", 0, 0), EvidenceRow(5, 0, "", 7, 0)])
    with reading(store.shard(0)) as snapshot:
        assert snapshot.newest_lost("discarded", 30, 99) == [7, 5, 4, 3]
        assert snapshot.newest_lost("discarded", 30, 3) == [7, 5]
        assert snapshot.newest_lost("expired", 0, 9) == [10]


def test_a_commit_that_was_begun_before_evidence_was_kept_is_made_or_loses_the_race(store: Store) -> None:
    commit(store.shard(0), {t.MESSAGE: [message(1)]})
    snapshot = store.shard(0).begin()
    store.shard(0).reader().keep_evidence([EvidenceRow(1, 50, "[]", 0, 0)])
    if not snapshot.commit(changes(snapshot.head, {t.MESSAGE: [message(2)]})):
        commit(store.shard(0), {t.MESSAGE: [message(2)]})
    assert [row.key for row in store.rows(t.MESSAGE, {}, None, 9)] == [1, 2]
    assert [row.message_key for row in kept(store)] == [1]
