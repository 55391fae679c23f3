"""Random stories about few business ids and few keys, told to memory and to a store: both must say the same.

Tickets are started by two messages or by hand, and wait inside for one of the same messages, so that a message may be
kept by a held id, by a locked key, by both, or go to somebody who waits.
"""

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from conjoin.runtime import Engine
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store, without_order
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.run.log import read_block, written_events
from conjoin.runtime.upkeep.backup import backup_store
from conjoin.store import tables as t
from conjoin.store.sqlite.store import SqliteStore
from conjoin.testing.clock import FakeClock
from conjoin.testing.observing.history import History
from conjoin.testing.observing.stored_history import StoredHistory
from tests.bpmn.snippets import BEGIN, END, catch, message, model, service

STORIES = int(os.environ.get("STORIES", "40"))
STEPS = 60
MINUTE_MS = 60_000


def tickets(*starts: str) -> bytes:
    """Started by these messages."""
    events = "".join(
        f'<startEvent id="{name}"><messageEventDefinition messageRef="{name}_message"/></startEvent>\n'
        for name in starts
    )
    flows = " ".join(f"{name}>again" for name in ("begin", *starts))
    roots = "".join(message(f"{name}_message", name, "=key") for name in ("opened", "asked"))
    inside = BEGIN + events + catch("again", "opened_message") + service("work") + END
    return model(inside, f"{flows} again>work work>end", roots)


VERSIONS = [tickets("opened", "asked"), tickets("asked"), tickets("opened")]


class InMemory:
    def __init__(self, clock: FakeClock) -> None:
        self.engine: Any = Engine(clock, unique_business_ids=True)
        self.history: Any = History()
        self._log: list[Any] = []
        self.engine.listen(self._listen)

    def _listen(self, shard: Any, command: Any, event: Any) -> None:
        self.history(shard, command, event)
        self._log += written_events([event])

    def publish_all(self, messages: Sequence[NewMessage]) -> list[int]:
        return [self.engine.ask(0, message).key for message in messages]

    def events(self) -> Any:
        return without_order(read_json(json_text(self._log)))


class OnStore:
    def __init__(self, clock: FakeClock) -> None:
        self.engine: Any = temporary_broker(1, clock, unique_business_ids=True)
        self.history: Any = StoredHistory(self.engine)

    def publish_all(self, messages: Sequence[NewMessage]) -> list[int]:
        """In one commit."""
        return [reply.key for reply in self.engine.post.run(0, Batch(messages)).replies]

    def events(self) -> Any:
        entries = [entry for row in self.engine.store.shard(0).log() for entry in read_block(row.block)]
        return without_order([[it.kind, *it.values.values()] for entry in entries for it in entry.events])

    def differences(self, base: SqliteStore | None = None) -> list[str]:
        return [it.difference for it in verify_store(self.engine.store, base) if it.difference]


class IdStory:
    def __init__(self, seed: str, teller: type[InMemory] | type[OnStore]) -> None:
        self._chance = Random(seed)
        self._clock = FakeClock()
        self._version = b""
        self.its: Any = teller(self._clock)
        self._deploy()

    def tell(self, steps: int) -> list[str]:
        acts = [self._publish] * 6 + [self._create] * 2 + [self._complete] * 4 + [self._cancel] * 3
        acts += [self._correlate, self._pass_time, self._deploy]
        return [self._chance.choice(acts)() for _ in range(steps)]

    def _deploy(self) -> str:
        """Another version than the last: deploying the same again is told in two ways."""
        self._version = self._chance.choice([version for version in VERSIONS if version != self._version])
        return f"deploy {self.its.engine.deploy([('tickets.bpmn', self._version)])}"

    def _message(self) -> NewMessage:
        key, ttl_ms = self._chance.choice(["a", "b", "c", ""]), self._chance.choice([0, MINUTE_MS, 60 * MINUTE_MS])
        name, business_id = self._chance.choice(["opened", "asked"]), self._chance.choice(["x", "x", "y", ""])
        return NewMessage(name, key, {"key": key}, ttl_ms, business_id=business_id)

    def _publish(self) -> str:
        messages = [self._message() for _ in range(self._chance.choice([1, 1, 4]))]
        return f"publish {messages}: {self.its.publish_all(messages)}"

    def _correlate(self) -> str:
        return f"correlate {self.its.engine.correlate(self._message())}"

    def _create(self) -> str:
        variables, business_id = {"key": self._chance.choice("abc")}, self._chance.choice(["x", "y", ""])
        return f"create {self.its.engine.create_instance('order', variables, business_id=business_id)}"

    def _complete(self) -> str:
        jobs = self.its.engine.activate_jobs("work", self._chance.randint(1, 2))
        return f"complete {[self.its.engine.complete_job(job.key, {}) for job in jobs]}"

    def _cancel(self) -> str:
        running = [key for key, it in self.its.history.instances.items() if it.state == "active"]
        return f"cancel {self.its.engine.cancel_instance(self._chance.choice(running)) if running else 'nobody'}"

    def _pass_time(self) -> str:
        self._clock.advance_ms(self._chance.choice([1, 30]) * MINUTE_MS)
        return f"time passes {self.its.engine.tick() if self._chance.random() < 0.5 else ''}"


def holders(store: Any) -> list[tuple[str, str]]:
    where = {"state": "active", "parent_key": 0}
    return [(row.process_id, row.business_id) for row in store.rows(t.INSTANCE, where, None, 1_000) if row.business_id]


@pytest.mark.parametrize("number", range(STORIES))
def test_a_store_decides_about_ids_what_memory_decides(seed: int, number: int) -> None:
    story = f"{seed}/{number}"
    stored = IdStory(story, OnStore)
    with closing(stored.its.engine):
        memory = IdStory(story, InMemory)
        assert stored.tell(STEPS) == memory.tell(STEPS), f"seed {story}"
        assert stored.its.events() == memory.its.events(), f"seed {story}"
        held = holders(stored.its.engine.store)
        assert len(set(held)) == len(held), f"seed {story}: an id is held twice"
        assert stored.its.differences() == [], f"seed {story}"


def test_stories_start_tickets_by_a_freed_id_and_by_a_freed_key(seed: int) -> None:
    """Without which the comparison would say little."""
    said = [kind for number in range(10) for kind in _ways_to_start(f"{seed}/{number}")]
    assert said.count("StartBuffered") >= 10
    assert said.count("EndInstance") >= 5


def _ways_to_start(story: str) -> list[str]:
    told, ways = IdStory(story, InMemory), []

    def note(shard: Any, command: Any, event: Any) -> None:
        told.its._listen(shard, command, event)
        if type(event).__name__ == "InstanceStarted":
            ways.append(type(command.command).__name__)

    told.its.engine.listen(note)
    told.tell(STEPS)
    return ways


def test_log_after_a_backup_replays_with_the_ids_of_the_backup(seed: int, tmp_path: Path) -> None:
    for number in range(5):
        stored = IdStory(f"{seed}/{number}", OnStore)
        with closing(stored.its.engine):
            stored.tell(STEPS // 2)
            backup_store(stored.its.engine.store, tmp_path / str(number))
            stored.tell(STEPS // 2)
            with closing(SqliteStore(tmp_path / str(number))) as base:
                assert stored.its.differences(base) == [], f"seed {seed}/{number}"
