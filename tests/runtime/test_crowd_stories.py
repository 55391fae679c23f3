"""Random stories where every key counts as crowded: with the fewest loaded, a store decides what memory decides."""

import pytest

from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.working_set import loaded_spaces
from tests.kernel.process.random_stories import Story
from tests.runtime.test_stored_stories import (
    STORIES,
    StoredStory,
    StoredStoryWithIds,
    StoryWithIds,
    compare,
)

STEPS = 40


@pytest.fixture(params=[(1, 1), (2, 1), (2, 2)], ids=str)
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many make a crowd, and how many of it are read at a time."""
    most, page = request.param
    monkeypatch.setattr(loaded_spaces, "MOST_WAITING", most)
    monkeypatch.setattr(loaded_spaces, "PAGE", page)


def differences(stored: StoredStory) -> list[str]:
    return [it.difference for it in verify_store(stored.engine.store) if it.difference]


@pytest.mark.parametrize("seed", range(STORIES // 3))
def test_a_store_of_crowds_decides_what_memory_decides(limits: None, seed: int) -> None:
    stored = StoredStory(f"crowd-{seed}", 1)
    try:
        compare(Story(f"crowd-{seed}", 1), stored)
        assert differences(stored) == [], f"seed crowd-{seed}"
    finally:
        stored.engine.close()


@pytest.mark.parametrize("seed", range(STORIES // 6))
def test_a_store_of_crowds_decides_what_memory_decides_where_ids_are_unique(limits: None, seed: int) -> None:
    stored = StoredStoryWithIds(f"crowd-ids-{seed}", 1)
    try:
        compare(StoryWithIds(f"crowd-ids-{seed}", 1), stored)
    finally:
        stored.engine.close()


@pytest.mark.parametrize("seed", range(STORIES // 3))
def test_what_crowds_on_several_shards_have_decided_is_decided_again_with_everybody_at_hand(
    limits: None, seed: int
) -> None:
    stored = StoredStory(f"crowd-shards-{seed}", 3)
    try:
        for _ in stored.steps(STEPS):
            pass
        assert differences(stored) == [], f"seed crowd-shards-{seed}: {stored.told}"
    finally:
        stored.engine.close()
