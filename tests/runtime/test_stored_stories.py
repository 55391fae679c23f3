"""Random stories, told to the engine in memory and to a broker on a store: both must say the same, event by event."""

import os
from typing import Any

import pytest

from conjoin.runtime import Engine
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store, without_order
from conjoin.runtime.run.log import read_block, written_events
from conjoin.testing.observing.stored_history import StoredHistory
from tests.kernel.process.random_stories import Story

STORIES = int(os.environ.get("STORIES", "60"))
STEPS = 40


class StoredStory(Story):
    """The same story on a temporary store."""

    unique_business_ids = False

    def _engine(self, shards: int) -> Any:
        broker = temporary_broker(shards, self.clock, unique_business_ids=self.unique_business_ids)
        self.history = StoredHistory(broker)
        return broker

    def _incidents(self) -> list[Any]:
        return self.history.open_incidents()


class _WithIds(Story):
    """Few business ids, each of which one instance of a process may hold."""

    def _start(self) -> str:
        process, variables, business_id = self.chance.choice(["alpha", "beta"]), self._variables(), self._business_id()
        created = self.engine.create_instance(process, variables, business_id=business_id)
        return f"start {process} {variables} as {business_id!r}: {created}"

    def _message(self) -> NewMessage:
        message = super()._message()
        message.business_id = self._business_id()
        return message

    def _business_id(self) -> str:
        return self.chance.choice(["", "x", "x", "y"])


class StoryWithIds(_WithIds):
    def _engine(self, shards: int) -> Any:
        engine = Engine(self.clock, shards, unique_business_ids=True)
        engine.listen(self._listen)
        return engine


class StoredStoryWithIds(_WithIds, StoredStory):
    unique_business_ids = True


def memory_events(story: Story) -> list[Any]:
    """As they would stand in a log."""
    return read_json(json_text([event for _, _, event in story.log for event in written_events([event])]))


def stored_events(story: StoredStory) -> list[Any]:
    entries = [entry for row in story.engine.store.shard(0).log() for entry in read_block(row.block)]
    return [[event.kind, *event.values.values()] for entry in entries for event in entry.events]


def compare(told: Story, stored: StoredStory) -> None:
    for step, same in zip(told.steps(STEPS), stored.steps(STEPS), strict=True):
        assert step == same, f"seed {told.seed}: {told.told}"
    assert without_order(stored_events(stored)) == without_order(memory_events(told)), f"seed {told.seed}"


@pytest.mark.parametrize("seed", range(STORIES))
def test_a_store_decides_what_memory_decides(seed: int) -> None:
    stored = StoredStory(f"stored-{seed}", 1)
    try:
        compare(Story(f"stored-{seed}", 1), stored)
    finally:
        stored.engine.close()


@pytest.mark.parametrize("seed", range(STORIES // 3))
def test_a_store_decides_what_memory_decides_where_ids_are_unique(seed: int) -> None:
    stored = StoredStoryWithIds(f"ids-{seed}", 1)
    try:
        compare(StoryWithIds(f"ids-{seed}", 1), stored)
        assert [it.difference for it in verify_store(stored.engine.store) if it.difference] == [], f"seed ids-{seed}"
    finally:
        stored.engine.close()
