"""Random stories, told to the engine in memory and to a broker on a store: both must say the same, event by event."""

import os
from typing import Any

import pytest

from conjoin.runtime.encoding.events import written_events
from conjoin.runtime.encoding.json_text import json_text, read_json
from conjoin.runtime.log import read_block
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.stored_history import StoredHistory
from tests.kernel.process.random_stories import Story

STORIES = int(os.environ.get("STORIES", "60"))
STEPS = 40


class StoredStory(Story):
    """The same story on a temporary store."""

    def _engine(self, shards: int) -> Any:
        broker = temporary_broker(shards, self.clock)
        self.history = StoredHistory(broker)
        return broker

    def _incidents(self) -> list[Any]:
        return self.history.open_incidents()


def memory_events(story: Story) -> list[Any]:
    """As they would stand in a log."""
    return read_json(json_text([event for _, _, event in story.log for event in written_events([event])]))


def stored_events(story: StoredStory) -> list[Any]:
    entries = [entry for row in story.engine.store.shard(0).log() for entry in read_block(row.block)]
    return [[event.kind, *event.values.values()] for entry in entries for event in entry.events]


@pytest.mark.parametrize("seed", range(STORIES))
def test_a_store_decides_what_memory_decides(seed: int) -> None:
    told = Story(f"stored-{seed}", 1)
    stored = StoredStory(f"stored-{seed}", 1)
    try:
        for step, same in zip(told.steps(STEPS), stored.steps(STEPS), strict=True):
            assert step == same, f"seed stored-{seed}: {told.told}"
        assert stored_events(stored) == memory_events(told), f"seed stored-{seed}"
    finally:
        stored.engine.close()
