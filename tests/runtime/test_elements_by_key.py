"""Every element instance that is alive is found by its key: by a row, near its instance, or by the log."""

import pytest

from conjoin.runtime.reading.instances import elements_of, instance_holding
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.working_set import loaded_instances
from conjoin.store import tables as t
from tests.runtime.test_stored_stories import STORIES, StoredStory

STEPS = 40


@pytest.fixture(params=[0, 3, loaded_instances.NEAR])
def near(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far above the key of an instance its elements are looked for; beyond that the log tells."""
    monkeypatch.setattr(loaded_instances, "NEAR", request.param)


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("seed", range(STORIES // 10))
def test_every_element_that_is_alive_is_found_by_its_key(near: None, seed: int, shards: int) -> None:
    stored = StoredStory(f"elements-{seed}", shards)
    try:
        checked = 0
        for number, _ in enumerate(stored.steps(STEPS)):
            checked += _check(stored) if number % 8 == 7 else 0
        assert checked, f"seed elements-{seed}"
        assert [it.difference for it in verify_store(stored.engine.store) if it.difference] == []
    finally:
        stored.engine.close()


def _check(stored: StoredStory) -> int:
    broker = stored.engine
    checked = 0
    for row in broker.store.rows(t.INSTANCE, {"state": "active"}, None, 1_000):
        for it in elements_of(row):
            found = instance_holding(broker, it.key)
            assert found is not None, f"seed {stored.seed}: {it} of {row.key}"
            assert found.key == row.key
            checked += 1
    return checked
