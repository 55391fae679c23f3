"""A message that is sent in place of a lost one is linked to it, both ways, and the lost one leaves the lists."""

import pytest

from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.explain.kept.replacing import note_replaced, unreplaceable
from conjoin.runtime.reading.lists import ListQuery, list_page
from conjoin.store import tables as t
from tests.runtime.broker_bench import HOUR_MS, Bench


@pytest.fixture(params=[1, 3])
def bench(request: pytest.FixtureRequest) -> Bench:
    bench = Bench(request.param)
    bench.deploy()
    return bench


def relations(bench: Bench, message: int) -> list[tuple[str, int, str]]:
    return [(it.relation, it.message, it.verdict) for it in bench.explain(message).related]


def replaced(bench: Bench, key: str = "O-1") -> tuple[int, int]:
    """A lost message, and the one that was sent in its place."""
    bench.start()
    lost = bench.publish(key=key)
    again = bench.publish(key="o-1")
    note_replaced(bench.broker, lost, again, "o-1")
    return lost, again


@pytest.mark.parametrize("key", ["O-1", "wrong-1", "wrong-2", "wrong-3"])
def test_both_name_each_other(bench: Bench, key: str) -> None:
    lost, again = replaced(bench, key)
    assert relations(bench, lost) == [("replaced_by", again, "correlated")]
    assert relations(bench, again) == [("replaces", lost, "discarded")]
    assert bench.explain(lost).related[0].sentence.startswith("Correlated: ")


def test_a_link_may_be_noted_twice(bench: Bench) -> None:
    lost, again = replaced(bench)
    before = list(bench.store.rows(t.EVIDENCE, {}, None, 9))
    note_replaced(bench.broker, lost, again, "o-1")
    assert list(bench.store.rows(t.EVIDENCE, {}, None, 9)) == before
    note_replaced(bench.broker, again, again, "o-1")
    assert list(bench.store.rows(t.EVIDENCE, {}, None, 9)) == before


def test_lists_of_lost_messages_leave_out_those_that_were_sent_again(bench: Bench) -> None:
    lost, again = replaced(bench)
    other = bench.publish(key="o-9")

    def found(**filters: object) -> list[int]:
        return sorted(it.key for it in list_page(bench.broker, "messages", ListQuery(filters)).items)

    assert found(verdict="discarded") == [other]
    assert found(verdict="discarded", replaced=True) == [lost]
    assert found(verdict="discarded", replaced=False) == [other]
    assert found() == sorted([lost, again, other])
    assert found(replaced=True) == [lost]
    [item] = list_page(bench.broker, "messages", ListQuery({"replaced": True})).items
    assert item.replaced_by == again


def test_pages_of_lost_messages_go_on_behind_those_that_were_sent_again(bench: Bench) -> None:
    keys = [bench.publish(key=f"o-{number}") for number in range(20)]
    again = bench.publish(key="o-1")
    for number in range(0, 19, 2):
        note_replaced(bench.broker, keys[number], again, "o-1")
    found, after = [], None
    while True:
        page = list_page(bench.broker, "messages", ListQuery({"verdict": "discarded"}, limit=3, after=after))
        found += [it.key for it in page.items]
        after = page.after
        if after is None:
            break
    assert found == sorted([*keys[1::2], again])


def test_what_cannot_be_replaced_is_refused_before_anything_is_sent(bench: Bench) -> None:
    lost = bench.publish(key="o-9")
    bench.start()
    taken, waits = bench.publish(), bench.publish(key="o-5", ttl_ms=HOUR_MS)

    def code(key: int, tenant: str = "<default>") -> str | None:
        found = unreplaceable(bench.broker, key, tenant)
        return found.code if isinstance(found, Refusal) else None

    assert (code(lost), code(lost, "acme")) == (None, "INVALID_ARGUMENT")
    assert (code(taken), code(waits), code(7)) == ("INVALID_STATE", "INVALID_STATE", "NOT_FOUND")
    bench.wait_ms(HOUR_MS)
    assert code(waits) is None


def test_a_link_that_cannot_be_written_is_no_error_of_the_publish(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no room")

    lost = bench.publish(key="o-9")
    monkeypatch.setattr("conjoin.store.sqlite.shard.SqliteShard.keep_evidence", broken)
    note_replaced(bench.broker, lost, bench.publish(key="o-1"), "o-1")
    monkeypatch.undo()
    assert relations(bench, lost) == []
