"""What is looked for after a commit, to say more about it, never turns it into an error: it would be done twice."""

from typing import Any

import pytest

from conjoin.cli.engine.on_store import OnStore
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain import explain as explaining
from conjoin.runtime.explain.explain import explain, wait_for_verdict, what_became
from conjoin.runtime.explain.explanation import Explanation
from conjoin.store.explaining_port import ExplainingSnapshot
from tests.runtime.broker_bench import Bench
from tests.runtime.test_too_early import CATCH


def fails(*_: Any) -> Any:
    raise ValueError("a mistake of ours")


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.deploy()
    return bench


def test_a_published_message_is_answered_without_near_misses(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(explaining, "all_misses", fails)
    key = bench.publish(key="²²²")
    for found in (what_became(bench.broker, key), wait_for_verdict(bench.broker, key, 0.0)):
        assert isinstance(found, Explanation)
        assert (found.verdict, found.near_misses, found.nobody) == ("discarded", (), None)
    assert "a mistake of ours" in caplog.text
    with pytest.raises(ValueError, match="a mistake of ours"):
        explain(bench.broker, key)


@pytest.mark.parametrize("wait_ms", [None, 0])
def test_a_command_that_publishes_on_a_store_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, wait_ms: int | None
) -> None:
    monkeypatch.setattr(explaining, "all_misses", fails)
    became = OnStore(bench.broker).publish(NewMessage("paid", "²²²", {}, 0), wait_ms)
    assert isinstance(became, dict)
    assert became["verdict"] == "discarded"


def test_the_answer_to_a_publish_searches_no_instance(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.deploy(CATCH)
    bench.start()
    key = bench.publish()
    assert bench.kinds(key) == ["too_early"]
    monkeypatch.setattr(ExplainingSnapshot, "holding", fails)
    found = what_became(bench.broker, key)
    assert isinstance(found, Explanation)
    assert found.nobody is not None
    assert found.nobody.newest is None
