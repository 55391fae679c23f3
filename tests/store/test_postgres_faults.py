"""What is particular to PostgreSQL when the world fails: a commit that may or may not have happened is found out."""

import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from conjoin.errors import OutcomeUnknown, StoreFailed
from conjoin.store import create_store, open_store
from conjoin.store import tables as t
from conjoin.store.port import Facts, Store
from conjoin.store.postgres import commit_outcome as postgres_doubt
from tests.store.cutting_proxy import CuttingProxy, Fate
from tests.store.samples import changes, commit, log_row, message


@pytest.fixture
def url(postgres_server: Any) -> Iterator[str]:
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = create_store(url, Facts(1, "zeebe", 0, unique_business_ids=False))
    yield store
    store.close()


class Cut:
    """A store whose connection is cut in its first commit."""

    def __init__(self, server: Any, url: str, word: bytes, fate: Fate) -> None:
        self._folder = TemporaryDirectory(prefix="conjoin-cut-")
        self.proxy = CuttingProxy(Path(self._folder.name), server.folder, word, fate)
        self.store = open_store(self.proxy.url(url.rpartition("/")[2]))

    def commit(self) -> bool:
        snapshot = self.store.shard(0).begin()
        won = snapshot.commit(changes(snapshot.head, {t.MESSAGE: [message(7)], t.LOG: [log_row(1)]}))
        assert self.proxy.cut.is_set(), "nothing was cut"
        return won

    def close(self) -> None:
        self.store.close()
        self.proxy.close()
        self._folder.cleanup()


@pytest.fixture
def cut(request: pytest.FixtureRequest, postgres_server: Any, url: str, store: Store) -> Iterator[Cut]:
    made = Cut(postgres_server, url, *request.param)
    yield made
    made.close()


def found(store: Store) -> tuple[int, list[int]]:
    """The version of the shard, and the messages in it."""
    snapshot = store.shard(0).begin()
    keys = [row.key for row in store.rows(t.MESSAGE, {}, None, 100)]
    snapshot.abandon()
    return snapshot.head.version, keys


@pytest.mark.parametrize("cut", [(b"commit", Fate.ANSWER_LOST)], indirect=True)
def test_a_commit_whose_answer_is_lost_is_known_to_have_happened(cut: Cut, store: Store) -> None:
    assert cut.commit()
    assert found(store) == (1, [7])


@pytest.mark.parametrize("cut", [(b"update shard", Fate.LOST), (b"commit", Fate.LOST)], indirect=True)
def test_a_commit_that_never_arrived_is_known_not_to_have_happened(cut: Cut, store: Store) -> None:
    assert not cut.commit()
    assert found(store) == (0, [])


@pytest.mark.parametrize("cut", [(b"update shard", Fate.LATE)], indirect=True)
def test_a_commit_that_was_said_not_to_have_happened_cannot_happen_later(cut: Cut, store: Store) -> None:
    assert not cut.commit()
    assert b"40001" in cut.proxy.deliver_held()
    assert found(store) == (0, [])


@pytest.mark.parametrize("cut", [(b"update shard", Fate.LOST)], indirect=True)
def test_the_shard_goes_on_after_a_cut(cut: Cut, store: Store) -> None:
    cut.commit()
    commit(cut.store.shard(0), {t.MESSAGE: [message(8)]})
    assert found(store) == (1, [8])


def test_somebody_elses_commit_of_the_same_version_is_not_taken_for_ours(store: Store) -> None:
    before = commit(store.shard(0), {t.LOG: [log_row(1)]})._replace(version=0)
    connections = store.shard(0).connections  # type: ignore[attr-defined]
    other = log_row(1)._replace(block=b"something else")
    assert not postgres_doubt.was_committed(connections, changes(before, {t.LOG: [other]}))
    assert postgres_doubt.was_committed(connections, changes(before, {t.LOG: [log_row(1)]}))


def test_without_its_log_row_a_commit_in_doubt_stays_in_doubt(store: Store) -> None:
    head = commit(store.shard(0), {})
    connections = store.shard(0).connections  # type: ignore[attr-defined]
    with pytest.raises(OutcomeUnknown, match="not known") as raised:
        postgres_doubt.was_committed(connections, changes(head._replace(version=0)))
    assert not raised.value.retryable


def test_a_server_that_crashes_before_the_commit_and_comes_back_is_waited_for(
    postgres_server: Any, store: Store
) -> None:
    commit(store.shard(0), {t.MESSAGE: [message(1)], t.LOG: [log_row(1)]})
    snapshot = store.shard(0).begin()
    postgres_server.stop("immediate")
    back = threading.Thread(target=postgres_server.start)
    back.start()
    assert not snapshot.commit(changes(snapshot.head, {t.MESSAGE: [message(2)], t.LOG: [log_row(2)]}))
    back.join()
    assert found(store) == (1, [1])
    commit(store.shard(0), {t.MESSAGE: [message(2)], t.LOG: [log_row(2)]})
    assert found(store) == (2, [1, 2])


def test_a_server_that_stays_away_is_an_error_that_names_it(
    postgres_server: Any, store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_doubt, "PATIENCE_S", 0.2)
    snapshot = store.shard(0).begin()
    postgres_server.stop("fast")
    try:
        with pytest.raises(OutcomeUnknown, match="not known"):
            snapshot.commit(changes(snapshot.head, {t.LOG: [log_row(1)]}))
        with pytest.raises(StoreFailed, match=r"postgresql://conjoin@/tmp/.*/test_"):
            store.shard(0).begin()
        with pytest.raises(StoreFailed):
            store.catalog.version()
    finally:
        postgres_server.start()
    assert store.catalog.version() == 0
    assert found(store) == (0, [])


def test_a_read_that_fails_ends_the_snapshot_and_the_next_one_reads(postgres_server: Any, store: Store) -> None:
    snapshot = store.shard(0).begin()
    # It waits until they are gone: another connection of the pool could still look alive.
    cut = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'conjoin'"
    postgres_server.execute(cut)
    with pytest.raises(StoreFailed):
        snapshot.messages([1])
    with pytest.raises(AssertionError, match="over"):
        snapshot.messages([1])
    assert found(store) == (0, [])


def test_what_the_server_refuses_is_not_committed_and_said_in_its_words(store: Store) -> None:
    psycopg = pytest.importorskip("psycopg")
    snapshot = store.shard(0).begin()
    with pytest.raises(psycopg.IntegrityError, match="not-null"):
        snapshot.commit(changes(snapshot.head, {t.MESSAGE: [message(7, name=None)]}))
    assert found(store) == (0, [])
