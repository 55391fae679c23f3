"""The kernel is total, pure and deterministic: the same commands give the same events, and deciding changes nothing.

Every walk is random and named by its seed; the same seed walks the same way again.
"""

import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from conjoin.kernel.correlation import KeySpace, Message, Subscription, decide
from conjoin.kernel.correlation import events as e
from conjoin.kernel.verdicts.verdicts import parameters, verdict_of
from tests.kernel.wanderer import TENANT, Wanderer, check, id_of, photograph, plain

WALKS = 30
STEPS = 120


@pytest.mark.parametrize("walk_number", range(WALKS))
def test_deciding_changes_nothing(walk_number: int, seed: int) -> None:
    """The dry run: the state before and after is the same, to the last field, and so is a second answer."""
    walk = Wanderer(f"{seed}/{walk_number}")
    for command in walk.commands(STEPS):
        before = photograph(walk)
        first = plain(decide(walk.space, command, walk.catalog))
        assert photograph(walk) == before, f"seed {seed}/{walk_number}: {command}"
        assert plain(walk.carry_out(command)) == first, f"seed {seed}/{walk_number}: {command}"


@pytest.mark.parametrize("walk_number", range(WALKS))
def test_explaining_changes_nothing(walk_number: int, seed: int) -> None:
    walk = Wanderer(f"{seed}/{walk_number}")
    for command in walk.commands(STEPS):
        walk.carry_out(command)
    before = photograph(walk)
    for message in walk.messages:
        verdict = verdict_of(walk.space, message, walk.now, walk.catalog)
        parameters(walk.space, message, verdict, walk.now, walk.catalog)
    assert photograph(walk) == before


@pytest.mark.parametrize("walk_number", range(WALKS))
def test_applying_the_recorded_events_to_an_empty_state_gives_the_same_state(walk_number: int, seed: int) -> None:
    walk = Wanderer(f"{seed}/{walk_number}")
    for command in walk.commands(STEPS):
        walk.carry_out(command)
    assert photograph(replayed(walk)) == photograph(walk), f"seed {seed}/{walk_number}"


def replayed(walk: Wanderer) -> Wanderer:
    """A walk whose state comes from nothing but the events, told of fresh records."""
    again = Wanderer("of no importance")
    again.space = KeySpace(TENANT, walk.space.key)
    fresh: dict[Any, Any] = {}
    for message in walk.messages:
        fresh[id(message)] = copy = Message(
            *(message.key, message.name, message.published_at, message.deadline, message.policy),
            *(message.message_id, message.business_id, message.payload),
        )
        copy.sync = message.key in walk.synchronous
        again.messages.append(copy)
    for subscription in walk.subscriptions:
        it = subscription
        fresh[id(it)] = copy_of_it = Subscription(
            *(it.key, it.rank, it.name, it.process_id, it.instance_id),
            *(it.element_id, it.opened_at, it.interrupting, it.business_id, it.payload),
        )
        again.subscriptions.append(copy_of_it)
    for event in walk.events:
        told = replace(event, **{f.name: _renewed(getattr(event, f.name), fresh) for f in fields(event)})
        fresh[id(event)] = told
        told.apply(again.space)
    return again


def _renewed(value: Any, fresh: dict[Any, Any]) -> Any:
    return fresh.get(id(value), value) if isinstance(value, Message | Subscription | e.Event) else value


def story_of(seed: str, walks: int) -> str:
    """Every event and verdict of some walks, as text."""
    lines = []
    for number in range(walks):
        walk = Wanderer(f"{seed}/{number}")
        for command in walk.commands(STEPS):
            lines.append(repr(plain(walk.carry_out(command))))
        lines += [repr(verdict_of(walk.space, m, walk.now, walk.catalog)[:3]) for m in walk.messages]
        lines.append(repr([id_of(s) for s in walk.space.subscriptions.values()]))
    return "\n".join(lines)


def test_the_outcome_is_the_same_under_two_hash_seeds(seed: int) -> None:
    """Two Spark workers must not disagree because a set was walked."""
    root = Path(__file__).parents[2]
    told = []
    for hash_seed in ("1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
        order = f"from tests.kernel.test_purity import story_of; import sys; sys.stdout.write(story_of('{seed}', 20))"
        done = subprocess.run([sys.executable, "-c", order], env=environment, capture_output=True, text=True, cwd=root)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout)
    assert len(told[0]) > 10_000
    assert told[0] == told[1]


@pytest.mark.parametrize("walk_number", range(WALKS))
def test_a_well_typed_command_never_raises_and_leaves_a_sound_state(walk_number: int, seed: int) -> None:
    walk = Wanderer(f"{seed}/{walk_number}")
    for command in walk.commands(STEPS):
        walk.carry_out(command)
        try:
            check(walk)
        except AssertionError as problem:
            pytest.fail(f"seed {seed}/{walk_number}, after {command}: {problem}")


@pytest.mark.parametrize("walk_number", range(WALKS))
def test_answers_that_nobody_waits_for_never_raise_and_leave_a_sound_state(walk_number: int, seed: int) -> None:
    """R7, R8: refusals of messages that were never, or are no longer, on their way."""
    walk = Wanderer(f"{seed}/{walk_number}", stale=True)
    for command in walk.commands(STEPS):
        try:
            walk.carry_out(command)
            check(walk)
        except (AssertionError, KeyError, ValueError, AttributeError) as problem:
            pytest.fail(f"seed {seed}/{walk_number}, after {command}: {problem!r}")
