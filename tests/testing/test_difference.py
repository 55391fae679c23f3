"""Comparing outcomes: exact on one shard, by content on several."""

from typing import Any

from conjoin.testing.scenarios import differences


def outcome(*instances: dict[str, Any], **more: Any) -> dict[str, Any]:
    told = {"steps": [], "instances": list(instances), "messages": [], "subscriptions": [], "jobs": []}
    return {**told, **more}


def instance(process: str, **variables: Any) -> dict[str, Any]:
    return {"process": process, "variables": variables, "elements": {"a": ["active"]}}


def test_the_same_has_no_difference() -> None:
    assert differences(outcome(instance("p", n=1)), outcome(instance("p", n=1))) == []


def test_each_difference_is_one_line_with_its_place() -> None:
    expected = outcome(instance("p", n=1), jobs=[[0, "a", "work"]])
    actual = outcome(instance("p", n=2, m=3), jobs=[])
    assert differences(expected, actual) == [
        "instances[0].variables.n: expected 1, got 2",
        "instances[0].variables.m: expected nothing, got 3",
        'jobs[0]: expected [0, "a", "work"], got nothing',
    ]


def test_a_boolean_is_no_number() -> None:
    assert differences(outcome(instance("p", n=1)), outcome(instance("p", n=True))) != []


def test_order_of_instances_matters_on_one_shard_only() -> None:
    expected = outcome(instance("p"), instance("q"), subscriptions=[[0, "a", "m", "k"]])
    actual = outcome(instance("q"), instance("p"), subscriptions=[[1, "a", "m", "k"]])
    assert differences(expected, actual) != []
    assert differences(expected, actual, shards=3) == []


def test_what_refers_to_an_instance_distinguishes_it_on_several_shards() -> None:
    """Two instances of the same content: one waits, one has a job, and a step answered with one of them."""
    twins = (instance("p"), instance("p"))
    step = {"ok": True, "instance": 0}
    expected = outcome(*twins, steps=[step], subscriptions=[[0, "a", "m", "k"]], jobs=[[1, "a", "work"]])
    swapped = outcome(
        *twins, steps=[{"ok": True, "instance": 1}], subscriptions=[[1, "a", "m", "k"]], jobs=[[0, "a", "work"]]
    )
    other = outcome(*twins, steps=[step], subscriptions=[[1, "a", "m", "k"]], jobs=[[0, "a", "work"]])
    assert differences(expected, swapped, shards=3) == []
    assert differences(expected, other, shards=3) != []


def test_jobs_of_a_step_compare_as_a_set_on_several_shards() -> None:
    jobs = [{"instance": number, "element": "a", "variables": {"n": number}} for number in (0, 1)]
    expected = outcome(instance("p", n=0), instance("p", n=1), steps=[{"ok": True, "jobs": jobs}])
    actual = outcome(instance("p", n=0), instance("p", n=1), steps=[{"ok": True, "jobs": jobs[::-1]}])
    assert differences(expected, actual) != []
    assert differences(expected, actual, shards=3) == []
