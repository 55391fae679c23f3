"""The engine for users' own tests: what it does, and what it says when an assertion fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from conjoin.errors import PolicyError
from conjoin.testing import LocalEngine, Refused, assert_that
from tests.bpmn.snippets import BEGIN, END, catch, model, service
from tests.bpmn.snippets import message as message_root
from tests.testing.order import ORDER


@pytest.fixture
def engine() -> LocalEngine:
    engine = LocalEngine()
    engine.deploy_texts({"order.bpmn": ORDER})
    return engine


def test_the_example_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines in the package's own docstring run as they stand."""
    import conjoin.testing

    (tmp_path / "order.bpmn").write_bytes(ORDER)
    monkeypatch.chdir(tmp_path)
    lines = (conjoin.testing.__doc__ or "").splitlines()
    example = "\n".join(line[4:] for line in lines if line.startswith("    "))
    assert "assert_that(paid).was_correlated_to(order)" in example
    exec(example, {})


def test_an_order_is_paid_shipped_and_done(engine: LocalEngine) -> None:
    order = engine.start("order", {"orderId": "o-1"})
    assert_that(order).is_waiting_at("paid").is_waiting_for("paid", "o-1").has_passed("begin")
    paid = engine.publish("paid", "o-1", {"amount": 5})
    assert_that(paid).was_correlated_to(order, at="paid").was_correlated()
    [job] = engine.complete("ship", {"shipped": True})
    assert (job.element_id, job.instance, job.variables["amount"]) == ("ship", order, 5)
    assert_that(order).is_completed().has_variable("shipped", True).has_no_incident().has_not_entered("ask")


def test_time_passes_only_when_it_is_moved(engine: LocalEngine) -> None:
    order = engine.start("order", {"orderId": "o-1"})
    kept = engine.publish("paid", "o-2", ttl="30m")
    engine.publish("paid", "o-1")
    engine.advance("29m")
    assert_that(kept).is_buffered().was_not_correlated()
    engine.advance("1m")
    assert_that(kept).has_expired()
    engine.advance("30m")
    assert_that(order).is_waiting_at("ask")
    engine.complete_user_task("ask", {"answer": 42})
    assert_that(order).is_completed().has_variable("answer", 42)


def test_a_message_starts_an_instance(engine: LocalEngine) -> None:
    opened = engine.publish("opened", "t-1", {"n": 1})
    assert_that(opened).started("ticket")
    assert engine.instances == opened.receivers
    assert engine.correlate("opened", "t-2").process_id == "ticket"


def test_failed_jobs_become_incidents_and_are_resolved(engine: LocalEngine) -> None:
    order = engine.start("order", {"orderId": "o-1"})
    engine.publish("paid", "o-1")
    job = engine.fail("ship", retries=0, message="no lorry")
    assert_that(order).has_incident_at("ship", "JOB_NO_RETRIES")
    with pytest.raises(Refused, match="INVALID_STATE"):
        engine.resolve_incidents(order)
    engine.update_retries(job, 1)
    engine.resolve_incidents(order)
    engine.complete("ship")
    assert_that(order).is_completed()


def test_what_is_refused_is_raised_with_its_code(engine: LocalEngine) -> None:
    engine.publish("paid", "o-1", id="x", ttl="1h")
    for refused, code in (
        (lambda: engine.publish("paid", "o-1", id="x", ttl="1h"), "ALREADY_EXISTS"),
        (lambda: engine.start("nothing"), "NOT_FOUND"),
        (lambda: engine.start("ticket"), "INVALID_STATE"),
        (lambda: engine.correlate("paid", "o-9"), "NOT_FOUND"),
        (lambda: engine.publish(" "), "INVALID_ARGUMENT"),
        (lambda: engine.complete("ship"), "NOT_FOUND"),
        (lambda: engine.deploy_texts({"bad.bpmn": b"<a/>"}), "INVALID_ARGUMENT"),
    ):
        with pytest.raises(Refused) as raised:
            refused()
        assert raised.value.code == code


def test_a_failing_assertion_about_a_message_says_what_became_of_it(engine: LocalEngine) -> None:
    order = engine.start("order", {"orderId": "o-1"})
    missed = engine.publish("Paid", "o-1", ttl="1h")
    with pytest.raises(AssertionError) as raised:
        assert_that(missed).was_correlated_to(order)
    assert str(raised.value) == (
        f"expected message 'Paid' with key 'o-1' to be correlated to instance {order.key} of process order. "
        "Buffered: nobody waits for 'Paid' with key 'o-1' yet; it is kept until 2030-01-01T01:00:00Z; "
        f"process order (instance {order.key} at paid) waits for 'paid' on the same key - "
        "the name differs in case or blanks only."
    )


def test_a_message_that_came_too_late_is_told_so(engine: LocalEngine) -> None:
    order = engine.start("order", {"orderId": "o-1"})
    engine.publish("paid", "o-1")
    engine.advance("2s")
    late = engine.publish("paid", "o-1")
    with pytest.raises(AssertionError, match=r"Discarded: .* stopped waiting 2 s before it was published"):
        assert_that(late).was_correlated_to(order)


def test_a_failing_assertion_about_an_instance_says_where_it_is(engine: LocalEngine) -> None:
    order = engine.start("order", {"orderId": "o-1"})
    with pytest.raises(AssertionError) as raised:
        assert_that(order).is_completed()
    assert str(raised.value) == (
        f"expected instance {order.key} of process order to be completed. It is active at paid; entered so far: "
        "begin, paid. It waits for 'paid' with key 'o-1' at paid. Variables: {'orderId': 'o-1'}"
    )
    stuck = engine.start("order", {"orderId": None})
    with pytest.raises(
        AssertionError, match="Incident EXTRACT_VALUE_ERROR at paid: the correlation key =orderId gave null"
    ):
        assert_that(stuck).has_no_incident()


@pytest.mark.parametrize(
    "claim",
    [
        lambda order: assert_that(order).is_terminated(),
        lambda order: assert_that(order).is_waiting_at("ship"),
        lambda order: assert_that(order).is_waiting_for("paid", "o-2"),
        lambda order: assert_that(order).has_passed("paid"),
        lambda order: assert_that(order).has_not_entered("begin"),
        lambda order: assert_that(order).has_variable("amount"),
        lambda order: assert_that(order).has_variable("orderId", "o-2"),
        lambda order: assert_that(order).has_no_variable("orderId"),
        lambda order: assert_that(order).has_incident_at("paid"),
    ],
)
def test_a_wrong_claim_about_an_instance_fails(engine: LocalEngine, claim: object) -> None:
    order = engine.start("order", {"orderId": "o-1"})
    with pytest.raises(AssertionError, match="expected instance"):
        claim(order)  # type: ignore[operator]


def test_several_shards_tell_the_same_story() -> None:
    engine = LocalEngine(shards=3)
    engine.deploy_texts({"order.bpmn": ORDER})
    orders = [engine.start("order", {"orderId": f"o-{number}"}) for number in range(9)]
    paid = [engine.publish("paid", f"o-{number}") for number in range(9)]
    for order, message in zip(orders, paid, strict=True):
        assert_that(message).was_correlated_to(order)
    engine.complete("ship", limit=9)
    assert {order.state for order in orders} == {"completed"}


def test_the_plugin_hands_out_an_engine(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["conjoin.testing.pytest_plugin"]')
    (tmp_path / "test_it.py").write_text(
        "def test_it(conjoin_engine):\n"
        "    assert type(conjoin_engine).__name__ == 'LocalEngine'\n"
        "    assert conjoin_engine.instances == []\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in ended.stdout, ended.stdout + ended.stderr


def test_policies_are_those_it_is_given() -> None:
    engine = LocalEngine(policies={"paid": {"cardinality": "once_per_instance"}})
    engine.deploy_texts({"order.bpmn": ORDER})
    first, second = (engine.start("order", {"orderId": "o-1"}) for _ in range(2))
    engine.publish("paid", "o-1")
    assert_that(first).is_waiting_at("ship")
    assert_that(second).is_waiting_at("ship")


def test_policies_that_make_no_sense_are_all_named() -> None:
    with pytest.raises(PolicyError) as raised:
        LocalEngine(profile="none", policies={"paid": {"cardinality": "some"}})
    assert len(raised.value.problems) == 2


def test_a_message_that_was_lost_says_because_of_what(engine: LocalEngine) -> None:
    order = engine.start("order", {"orderId": "o-1"})
    wrong = engine.publish("paid", "O-1")
    assert_that(wrong).was_not_correlated(because="other_key").was_not_correlated(because="ttl_zero")
    assert [miss["instance"] for miss in wrong.near_misses] == [order.key]
    with pytest.raises(AssertionError, match="to be lost because of too_early, not of ttl_zero, other_key"):
        assert_that(wrong).was_not_correlated(because="too_early")
    far = engine.publish("paid", "o-2")
    assert far.near_misses == []
    with pytest.raises(AssertionError, match=r"not of ttl_zero\."):
        assert_that(far).was_not_correlated(because="other_key")


def test_a_message_that_comes_too_early_names_who_will_wait_for_it() -> None:
    engine = LocalEngine()
    roots = message_root("shipped_message", "shipped", "=orderId")
    content = model(
        BEGIN + service("pack") + catch("shipped", "shipped_message") + END, "begin>pack pack>shipped", roots
    )
    engine.deploy_texts({"order.bpmn": content})
    order = engine.start("order", {"orderId": "o-1"})
    early = engine.publish("shipped", "o-1")
    assert_that(early).was_not_correlated(because="too_early")
    assert (
        f"instance {order.key} of process order is at 'pack' and waits for it after that, at shipped" in early.verdict
    )
    kept = engine.publish("shipped", "o-1", ttl="1h")
    assert "it is kept for that" in kept.verdict
    engine.complete("pack")
    assert_that(kept).was_correlated_to(order, at="shipped")
