"""The generator, the shrinker, and what must hold for every history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from .facts import Outcome
from .history import TABLES, History, generate, minimal, show
from .model import play

SEEDS = range(2_000)
REASONS = {
    *(("correlated", r) for r in ("waiting_instance", "waiting_instance_later")),
    *(("correlated", r) for r in ("started_instance", "started_after_lock")),
    *(("buffered", r) for r in ("nobody_waits", "locked")),
    *(("expired", r) for r in ("nobody_waited", "was_locked", "never_offered")),
    *(("discarded", r) for r in ("ttl_zero", "policy")),
    *(("refused", r) for r in ("duplicate_id", "not_found", "ambiguous", "locked")),
    ("short", "fewer_than_expected"),
}


@pytest.fixture(scope="module")
def played() -> list[tuple[History, Outcome]]:
    return [(history, play(history)) for history in map(generate, SEEDS)]


def test_the_random_histories_reach_every_reason(played: list[tuple[History, Outcome]]) -> None:
    counts = Counter(verdict for _, outcome in played for verdict in outcome.verdicts.values())
    assert set(counts) == REASONS
    assert min(counts.values()) >= 10, counts


def test_every_message_is_judged_or_later(played: list[tuple[History, Outcome]]) -> None:
    for history, outcome in played:
        later = {which for table, which in outcome.later if table == "messages"}
        assert set(outcome.verdicts) | later == {row["position"] for row in history.messages}, show(history)
        assert set(outcome.decided_at) == set(outcome.verdicts)


def test_an_interrupting_subscription_takes_at_most_one(played: list[tuple[History, Outcome]]) -> None:
    for history, outcome in played:
        taken = Counter(pair[3] for pair in outcome.pairs if pair[3])
        for row in history.subscriptions:
            if row["interrupting"] is not False:
                assert taken[row["subscription_id"]] <= 1, show(history)


def test_d7_no_process_takes_a_message_twice_in_plain_zeebe(played: list[tuple[History, Outcome]]) -> None:
    for history, outcome in played:
        if not history.policies and history.profile == "zeebe":
            takes = Counter((pair[0], pair[2]) for pair in outcome.pairs)
            assert set(takes.values()) <= {1}, show(history)


def test_the_order_of_the_rows_does_not_matter(played: list[tuple[History, Outcome]]) -> None:
    for history, outcome in played[:300]:
        turned = replace(history, **{table: getattr(history, table)[::-1] for table in TABLES})
        other = play(turned)
        other.later = {(t, len(history.ends) - 1 - int(w)) if t == "ends" else (t, w) for t, w in other.later}
        assert other == outcome, show(history)


def test_correlation_keys_are_independent(played: list[tuple[History, Outcome]]) -> None:
    """E7: what happens on one key is the same when the others are taken away."""
    for history, outcome in played[:300]:
        for key, part in by_key(history, outcome):
            alone = play(part)
            assert alone.verdicts == {p: outcome.verdicts[p] for p in alone.verdicts}, (key, show(history))
            assert alone.pairs == {pair for pair in outcome.pairs if pair[0] in alone.verdicts}


def by_key(history: History, outcome: Outcome) -> Iterator[tuple[str, History]]:
    for key in sorted({row["correlation_key"] or "" for row in history.messages}):
        tables: dict[str, Any] = {
            table: [row for row in getattr(history, table) if (row["correlation_key"] or "") == key]
            for table in ("messages", "subscriptions", "ends")
        }
        yield key, replace(history, as_of=whole_as_of(history), **tables)


def whole_as_of(history: History) -> int:
    if history.as_of is not None:
        return history.as_of
    columns = ("published_at", "opened_at", "closed_at", "ended_at")
    rows = history.messages + history.subscriptions + history.ends
    return max(int(row[column]) for row in rows for column in columns if row.get(column) is not None)


def test_generate_is_reproducible() -> None:
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)


def test_a_key_prefix_changes_only_the_keys() -> None:
    for seed in range(200):
        one, two = generate(seed, "a/"), generate(seed, "b/")
        keys = [row["correlation_key"] for row in one.messages + one.subscriptions + one.ends]
        assert all(key.startswith("a/") for key in keys)
        assert play(one).verdicts == play(two).verdicts
        assert (one.starts, one.policies, one.as_of) == (two.starts, two.policies, two.as_of)


def test_minimal_keeps_only_the_rows_that_matter() -> None:
    def someone_starts_after_a_lock(history: History) -> bool:
        return ("correlated", "started_after_lock") in play(history).verdicts.values()

    seed = next(seed for seed in SEEDS if someone_starts_after_a_lock(generate(seed)))
    small = minimal(generate(seed), someone_starts_after_a_lock)
    assert someone_starts_after_a_lock(small)
    assert len(small.messages) == 2
    assert len(small.ends) == 1
    assert not small.subscriptions
    assert len(small.starts) <= 2


def test_show_lists_every_row() -> None:
    history = generate(3)
    text = show(history)
    rows = sum(len(getattr(history, table)) for table in TABLES)
    assert f"seed {history.seed}" in text
    assert len(text.splitlines()) == 1 + len(history.policies) + len(TABLES) + rows
