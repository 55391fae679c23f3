"""A well-typed command never raises, deciding changes nothing, and the same command is decided the same way again."""

from typing import Any

import pytest

from conjoin.kernel.correlation import Message, Subscription
from conjoin.kernel.policies import Policy
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import decide
from conjoin.kernel.process.decide import decide_in
from conjoin.runtime.engine import shard as shards
from tests.kernel.attributes import attributes_of, has_attributes
from tests.kernel.process.random_stories import Story
from tests.kernel.process.replay import plain_state

FAR = 2**62
SUBSCRIPTION = Subscription(1, 2, "m1", "alpha", 3, "c1", 0, payload="a")
MESSAGE = Message(1, "m1", 0, 0, Policy())


def commands_about(key: int, at: int) -> list[c.Command]:
    """One of each kind that a key is enough for, about a key that may be anything."""
    subscription = Subscription(key, key, "m1", "alpha", key, "begin1", at, payload="a")
    return [
        c.CreateInstance("nothing", 0, "<default>", {}, at),
        c.CreateInstance("alpha", 99, "<default>", {}, at),
        c.CancelInstance(key, at),
        c.SetVariables(key, {"v": 1}, at),
        c.SetVariables(key, {"v": 1}, at, local=True),
        c.ActivateJobs("j1", "w", 1, 5, at),
        c.ActivateJobs("", "w", 1, 5, at),
        c.CompleteJob(key, {"v": 1}, at),
        c.FailJob(key, 0, "", at),
        c.ThrowError(key, "E1", "", at),
        c.UpdateRetries(key, 1, at),
        c.UpdateTimeout(key, 1, at),
        c.AssignTask(key, "ann", False, at),
        c.ReturnJobs(at),
        c.ReturnJobs(FAR),
        c.ResolveIncident(key, at),
        c.FireTimers(at),
        c.FireTimers(FAR),
        c.BroadcastSignal("s1", {}, "<default>", at),
        c.DeliverMessage("<default>", "a", subscription, MESSAGE, at),
        c.RefuseSubscription(subscription, SUBSCRIPTION, at),
        c.CompleteElement(key, at),
        c.TerminateElement(key, at),
        c.TerminateChildren(key, at),
        c.StartLoop(key, at),
        c.CheckJoin(0, "nothing", at),
    ]


@pytest.mark.parametrize("number", range(20))
def test_any_command_about_any_key_is_decided_without_a_trace(seed: int, number: int) -> None:
    story = Story(f"{seed}/{number}", 1)
    for _ in story.steps(15):
        pass
    state = story.engine.shards[0].state
    before = plain_state(state)
    known = [*state.elements, *state.jobs, *state.timers, *state.incidents, 0, -1, FAR]
    for key in known:
        for command in commands_about(key, story.engine.now):
            first = _plain(decide(state, command, state.definitions))
            assert _plain(decide(state, command, state.definitions)) == first, f"{command}: {story.seed}"
    assert plain_state(state) == before, story.seed


@pytest.mark.interpreted
def test_deciding_in_the_middle_of_things_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of a story, those that an engine orders of itself too."""
    looked: set[type] = set()

    def look(step: Any, command: Any) -> Any:
        before = plain_state(step.state)
        decided = decide_in(step, command)
        assert plain_state(step.state) == before, command
        looked.add(type(command))
        return decided

    monkeypatch.setattr(shards, "decide_in", look)
    for number in range(12):
        for _ in Story(f"{seed}/{number}", 1).steps(12):
            pass
    assert {c.ActivateElement, c.CompleteElement, c.TerminateElement, c.DeliverMessage, c.TerminateChildren} <= looked


def _plain(decided: list[Any]) -> list[Any]:
    return [(type(item).__name__, *_fields(item)) for item in decided]


def _fields(item: Any) -> list[Any]:
    values = [getattr(item, name) for name in attributes_of(item)]
    return [_fields(value) if has_attributes(value) else value for value in values]
