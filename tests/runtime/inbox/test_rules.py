"""Settings that say who is held back by whom may change: then every group is looked at once more, and none is lost."""

import pytest

from conjoin.kernel.inbox.operations import Pause
from conjoin.runtime.inbox import requests
from conjoin.runtime.inbox.requests import RULES_PART, RULES_SOURCE, rules_of
from tests.runtime.inbox.bench import REMOTE, Bench, preset
from tests.runtime.inbox.conftest import Make


def stuck(bench: Bench) -> Bench:
    """A message that is paused, and one behind it that somebody waits for."""
    bench.send("o-1", "m-1")
    bench.send("o-1", "m-2")
    bench.operate("m-1", Pause())
    bench.wait("o-1")
    bench.run()
    assert (bench.row("m-2").state, bench.groups()) == ("waiting", {})
    return bench


def test_whoever_was_held_back_by_the_old_rules_is_tried_by_the_new_ones(make: Make) -> None:
    bench = stuck(make(preset(mode="fail_first")))
    bench.configure(preset(mode="all"))
    assert bench.run(after_s=6).correlated == 1


def test_whoever_comes_later_is_judged_by_the_rules_that_are_noted(make: Make) -> None:
    bench = stuck(make(preset(mode="fail_first")))
    bench.send("o-1", "m-3")
    assert bench.groups() == {}
    bench.configure(preset(mode="all"))
    bench.run(after_s=6)
    bench.send("o-1", "m-4")
    assert bench.groups() != {}


def test_a_store_with_many_groups_wakes_them_in_several_commits(single: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "AT_ONCE", 10)
    bench = single(preset(mode="fail_first"))
    for number in range(35):
        bench.send(f"o-{number}", f"m-{number}")
        bench.send(f"o-{number}", f"n-{number}")
        bench.operate(f"m-{number}", Pause())
    bench.run()
    bench.wait(*(f"o-{number}" for number in range(35)))
    bench.configure(preset(mode="all"))
    assert bench.run(after_s=6).correlated == 35


def test_rules_are_noted_on_every_shard(bench: Bench) -> None:
    bench.run()
    for shard in range(bench.broker.shard_count):
        with bench.broker.post.look(shard) as snapshot:
            assert snapshot.position(RULES_SOURCE) == {RULES_PART: rules_of(bench.settings)}


def test_rules_that_change_while_they_are_noted_are_noted_in_the_end(
    single: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one who notes them dies after a part of the groups."""
    monkeypatch.setattr(requests, "AT_ONCE", 1)
    bench = single(preset(mode="fail_first"))
    for key in ("a", "b", "c"):
        bench.send(key, f"first-{key}")
        bench.send(key, f"second-{key}")
        bench.operate(f"first-{key}", Pause())
    bench.wait("a", "b", "c")
    bench.run()
    rules = rules_of(preset(mode="all"))
    bench.inbox.shards.ask(0, requests.InboxRules(rules))
    bench.configure(preset(mode="all"))
    assert bench.run(after_s=6).correlated == 3


@pytest.mark.parametrize("channel", ["orders", REMOTE])
@pytest.mark.parametrize("mode", ["all", "fail_first"])
def test_a_run_ends_though_the_order_of_the_settings_has_changed(single: Make, mode: str, channel: str) -> None:
    """Places are fixed when messages are accepted; the kernel goes by what the settings say now."""
    bench = single(preset(mode=mode, order="event_time"))
    for number in range(30):
        bench.send("o-1", f"m-{99 - number}", channel)
    bench.configure(preset(mode=mode, order="message_id", batch_size=-1))
    bench.inbox._runner.at_once = 4
    for _ in range(3):
        bench.run(after_s=60)
    tried = [row for row in bench.rows() if row.tried_at is not None]
    assert tried
