"""Random models, random stories: nobody gets stuck, nothing is lost, and the log tells the whole state.

Each story is named by its seed; a failure prints it, with the steps that led there.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conjoin.runtime.engine import key_spaces
from tests.kernel.process.invariants import broken_promises
from tests.kernel.process.random_stories import Story
from tests.kernel.process.replay import Replayed, plain_space, plain_state

STORIES = 60
STEPS = 40


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("number", range(STORIES))
def test_an_idle_engine_keeps_its_promises(seed: int, number: int, shards: int) -> None:
    story = Story(f"{seed}/{number}", shards)
    for _ in story.steps(STEPS):
        broken = broken_promises(story.engine, story.history)
        assert broken == [], _account(story, shards)


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("number", range(STORIES // 3))
def test_replaying_the_log_gives_the_same_state(
    seed: int, number: int, shards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_spaces, "LATELY", 10**9)
    story = Story(f"{seed}/{number}", shards)
    for _ in story.steps(STEPS):
        pass
    synchronous = {told.message.key for told in story.history.messages if told.is_sync}
    for shard in story.engine.shards:
        replayed = Replayed(shard, story.log, synchronous)
        replayed.state.keys.next = shard.keys.next
        assert plain_state(replayed.state) == plain_state(shard.state), _account(story, shards)
        for place, space in shard.spaces.whole():
            assert plain_space(replayed.spaces[place]) == plain_space(space), _account(story, shards)


def test_putting_key_spaces_to_rest_changes_nothing_but_explanations(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        told = []
        for lately in (0, 10**9):
            monkeypatch.setattr(key_spaces, "LATELY", lately)
            story = Story(f"{seed}/{number}", 1)
            for _ in story.steps(STEPS):
                pass
            told.append([(type(event).__name__, getattr(event, "key", None)) for _, _, event in story.log])
        assert told[0] == told[1], f"seed {seed}/{number}"


def test_two_hash_seeds_tell_the_same_story(seed: int) -> None:
    script = (
        "from tests.kernel.process.random_stories import Story\n"
        f"story = Story('{seed}/7', 2)\n"
        "print(*story.steps(40), sep='\\n')\n"
        "print([type(event).__name__ for _, _, event in story.log])\n"
    )
    root = Path(__file__).parents[3]
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(told) == 1


def _account(story: Story, shards: int) -> str:
    steps = "\n".join(f"  {number}: {told}" for number, told in enumerate(story.told))
    broken = "\n".join(broken_promises(story.engine, story.history))
    return f"Story({story.seed!r}, {shards})\n{steps}\n{broken}"
