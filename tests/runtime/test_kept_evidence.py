"""What was near when a message was lost is kept with it, bounded, and does not drift; what is near now stands apart."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain, explain_named, what_became
from conjoin.runtime.explain.explanation import Explanation
from conjoin.runtime.explain.kept import evidence
from conjoin.runtime.explain.kept.keeping import AT_ONCE, SHARE, WITHIN_US, KeepingEvidence
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.upkeep.backup import backup_store
from conjoin.runtime.upkeep.erase import erase_payload
from conjoin.runtime.upkeep.reshard import reshard_store
from conjoin.runtime.upkeep.retention import KeepFor, Retention
from conjoin.runtime.visibility.scope import VisibleScope
from conjoin.store import tables as t
from conjoin.store.port import Changes
from conjoin.store.rows import EvidenceRow
from conjoin.store.sqlite.store import SqliteStore
from tests.runtime.broker_bench import HOUR_MS, Bench

HOSTILE = ["k" * 5_000, "\x00" * 300, "🧾" * 900, '"\\' * 400, "\u2028" * 300, "é" * 77]


def keeping(broker: Broker) -> list[float]:
    """A round of what a server does; how long it has rested."""
    rests: list[float] = []
    keeper = KeepingEvidence(broker, rests.append)
    keeper.round()
    keeper.close()
    return rests


def kept(broker: Broker) -> list[EvidenceRow]:
    return list(broker.store.rows(t.EVIDENCE, {}, None, 99))


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.deploy()
    return bench


def slipped(bench: Bench) -> int:
    """Somebody waits with a key in lower case."""
    bench.start()
    return bench.publish(key="O-1")


def test_what_was_near_does_not_drift_when_somebody_begins_to_wait_later(bench: Bench) -> None:
    message = slipped(bench)
    before = bench.explain(message)
    keeping(bench.broker)
    bench.wait_ms(60_000)
    later = bench.start(variables={"orderId": "O-1"})
    found = bench.explain(message)
    assert (found.was_kept, found.near_misses, found.sentence) == (True, before.near_misses, before.sentence)
    assert found.near_now is not None
    assert (found.seen_at, found.near_now.looked_at) == (before.seen_at, bench.clock())
    first = found.near_now.near_misses[0]
    assert (first["kind"], first["instance"]) == ("expired_before", later)
    assert found.as_json()["near_now"]["near_misses"][0]["text"]


def test_an_expired_message_keeps_what_was_near_at_its_end(bench: Bench) -> None:
    bench.start()
    message = bench.publish(key="O-1", ttl_ms=HOUR_MS)
    bench.wait_ms(HOUR_MS)
    bench.broker.tick()
    keeping(bench.broker)
    bench.wait_ms(300_000)
    bench.start(variables={"orderId": "O-1"})
    found = bench.explain(message)
    assert (found.verdict, found.was_kept) == ("expired", True)
    assert [it["kind"] for it in found.near_misses] == ["other_key"]
    assert "began to wait" not in found.sentence
    assert found.near_now is not None


def test_what_is_the_same_is_shown_once(bench: Bench) -> None:
    message = slipped(bench)
    keeping(bench.broker)
    bench.wait_ms(60_000)
    found = bench.explain(message)
    assert found.was_kept
    assert found.near_now is None


def test_that_nobody_was_near_is_kept_too(bench: Bench) -> None:
    message = bench.publish(key="o-9")
    keeping(bench.broker)
    [row] = kept(bench.broker)
    assert (row.message_key, row.near) == (message, "[]")
    found = bench.explain(message)
    assert (found.was_kept, found.near_misses, found.near_now) == (True, [], None)
    assert found.nobody is not None


def test_what_was_decided_some_minutes_ago_has_no_evidence_and_says_so(bench: Bench) -> None:
    message = slipped(bench)
    bench.wait_ms(WITHIN_US // 1_000 + 1)
    keeping(bench.broker)
    assert kept(bench.broker) == []
    found = bench.explain(message)
    assert (found.was_kept, found.seen_at) == (False, bench.clock())


def test_only_lost_messages_have_evidence(bench: Bench) -> None:
    bench.start()
    bench.publish()
    bench.publish(key="o-2", ttl_ms=HOUR_MS)
    keeping(bench.broker)
    assert kept(bench.broker) == []


def test_a_round_looks_at_some_of_the_newest_and_rests_many_times_longer(bench: Bench) -> None:
    messages = [bench.publish(key=f"o-{number}") for number in range(2 * AT_ONCE)]
    rests = keeping(bench.broker)
    assert len(rests) == AT_ONCE
    assert all(rest >= 0 for rest in rests)
    assert 1 / SHARE - 1 > 30
    assert [row.message_key for row in kept(bench.broker)] == messages[AT_ONCE:]
    keeping(bench.broker)
    assert [row.message_key for row in kept(bench.broker)] == messages


def test_a_message_that_cannot_be_explained_keeps_no_other_from_its_evidence(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, bad = slipped(bench), bench.publish(key="o-8")

    def failing(broker: Broker, key: int) -> object:
        if key == bad:
            raise ValueError("cannot be explained")
        return explain(broker, key)

    monkeypatch.setattr("conjoin.runtime.explain.kept.keeping.explain", failing)
    with pytest.raises(ValueError, match="cannot be explained"):
        keeping(bench.broker)
    assert [(row.message_key, row.near == evidence.NOTHING_KEPT) for row in kept(bench.broker)] == [
        (other, False),
        (bad, True),
    ]
    keeping(bench.broker)
    assert not bench.explain(bad).was_kept


def test_whoever_explains_after_publishing_keeps_what_was_found(bench: Bench) -> None:
    message = slipped(bench)
    what_became(bench.broker, message)
    evidence.keep_noted(bench.broker)
    assert [row.message_key for row in kept(bench.broker)] == [message]
    evidence.keep_noted(bench.broker)


def test_an_error_while_keeping_what_was_noted_is_none_of_the_publish(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no room")

    what_became(bench.broker, slipped(bench))
    monkeypatch.setattr("conjoin.store.sqlite.shard.SqliteShard.keep_evidence", broken)
    evidence.keep_noted(bench.broker)


@pytest.mark.parametrize("key", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("name", ["paid", *HOSTILE], ids=range(1 + len(HOSTILE)))
def test_evidence_is_bounded_whatever_the_keys(key: str, name: str) -> None:
    misses = [
        {"kind": "other_key", "process": "order", "instance": 2**62, "element": key, "key": key, "name": name}
        for _ in range(3)
    ]
    text = evidence.written(misses)
    assert len(text.encode()) <= evidence.MOST_BYTES
    read = evidence.read(EvidenceRow(1, 1, text, 0, 0))
    assert evidence.are_the_same(read, misses) if read is not None else name != "paid"
    assert name != "paid" or read is not None


def test_what_somebody_may_not_see_is_not_shown_to_them_and_not_left_out_for_others(bench: Bench) -> None:
    class Narrow(VisibleScope):
        def sees(self, tenant_id: str, message: str | None = None, process: str | None = None) -> bool:
            return process is None

    message = slipped(bench)
    bench.broker.scope = Narrow()
    what_became(bench.broker, message)
    assert not bench.broker.noted_evidence
    del bench.broker.scope
    bench.broker.scope = VisibleScope()
    keeping(bench.broker)
    assert bench.explain(message).near_misses
    bench.broker.scope = Narrow()
    found = bench.explain(message)
    assert (found.was_kept, found.near_misses, found.near_now) == (True, [], None)
    assert "instance" not in found.sentence


def test_by_name_and_key_what_was_kept_is_shown(bench: Bench) -> None:
    slipped(bench)
    keeping(bench.broker)
    found = explain_named(bench.broker, NewMessage("paid", "O-1"))
    assert [it.was_kept for it in found.known] == [True]
    assert not found.dry_run.was_kept


def test_erasing_forgets_what_was_near_and_nobody_looks_again(bench: Bench) -> None:
    message, other = slipped(bench), bench.publish(key="o-5")
    keeping(bench.broker)
    later = bench.publish(key="O-1")
    erase_payload(bench.broker, message)
    erase_payload(bench.broker, later)
    keeping(bench.broker)
    assert {row.message_key: row.near for row in kept(bench.broker)} == {message: "", other: "[]", later: ""}
    assert not bench.explain(message).was_kept
    assert [it.difference for it in verify_store(bench.store)] == [None]


def test_evidence_goes_with_its_message(bench: Bench) -> None:
    slipped(bench)
    keeping(bench.broker)
    bench.wait_ms(HOUR_MS)
    Retention(bench.store, KeepFor(1, None, None)).sweep(bench.clock())
    assert kept(bench.broker) == []
    assert [it.difference for it in verify_store(bench.store)] == [None]


@pytest.fixture
def stored(tmp_path: Path, bench: Bench) -> Iterator[Broker]:
    broker = create_broker(tmp_path / "store", 3, bench.clock)
    for number in range(20):
        broker.publish(NewMessage("paid", f"o-{number}", ttl_ms=0))
    for _ in range(3):
        keeping(broker)
    yield broker
    broker.close()


def test_evidence_is_found_in_a_store_with_another_number_of_shards_and_in_a_backup(
    stored: Broker, tmp_path: Path, bench: Bench
) -> None:
    before = kept(stored)
    assert len(before) == 20
    backup_store(stored.store, tmp_path / "backup")
    copy = SqliteStore(tmp_path / "backup")
    assert list(copy.rows(t.EVIDENCE, {}, None, 99)) == before
    copy.close()
    # Of a message that is gone: it stays behind.
    reader = stored.store.shard(0).reader()
    with reader.begin() as snapshot:
        changes_head = snapshot.head._replace(version=snapshot.head.version + 1)

        assert snapshot.commit(Changes(changes_head, {t.EVIDENCE: [EvidenceRow(5, 5, "[]", 0, 0)]}))
    reader.close()
    reshard_store(stored.store, 2, tmp_path / "two", lambda text: None)
    other = open_broker(tmp_path / "two", bench.clock)
    assert kept(other) == before
    assert all(isinstance(it := explain(other, row.message_key), Explanation) and it.was_kept for row in before)
    other.close()


def test_a_grant_for_some_processes_covers_kept_near_misses() -> None:
    """What decides who may see a near miss is kept whole."""
    long = "order-" + "x" * 300
    text = evidence.written([{"kind": "other_key", "process": long, "key": "k" * 300, "instance": 7}])
    [miss] = json.loads(text)
    assert (miss["process"], miss["cut"]) == (long, True)
