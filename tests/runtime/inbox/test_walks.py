"""Random inboxes, told to the kernel's own simulator and to a store: after every run both hold the same messages.

Who is tried, in which order, and what is booked must not depend on how little of a group the store has read, nor on how
it is spread over shards. Whoever makes the calls does not die here; what is uncertain then is told elsewhere.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from conjoin.kernel.inbox import InboxMessage, InboxSettings
from conjoin.kernel.inbox.message import FAULTS, Hint
from conjoin.kernel.inbox.operations import Delete, Operation, Pause, Release, Resume, RetryNow, SetNextRetry
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Outcome, Unanswered
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.runtime.inbox import cross_shard as spanning
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.on_shard import due_groups as looks
from conjoin.runtime.inbox.on_shard.attempts import Offers
from conjoin.runtime.opening import temporary_broker
from conjoin.testing.clock import START_US, FakeClock
from conjoin.times.iso8601 import instant_text
from tests.conftest import the_seed
from tests.kernel.inbox.simulator import Inbox as Simulator
from tests.kernel.inbox.simulator import S, make, preset
from tests.runtime.inbox.bench import CHANNEL, CHANNELS, REMOTE, Bench

WALKS = int(os.environ.get("WALKS", "12"))
RUNS, EVERY_S = 12, 6
SETTINGS = st.builds(
    preset,
    st.sampled_from(["conjoin", "correlate-docs", "correlate-code"]),
    mode=st.sampled_from(["all", "fail_first"]),
    group_gate=st.sampled_from(["own", "strict"]),
    exhausted_blocks=st.booleans(),
    batch_size=st.sampled_from([-1, -1, 1, 2, 0]),
    page_size=st.sampled_from([1, 2, 1_000]),
    max_attempts=st.integers(0, 3),
    backoff_base=st.sampled_from([1.0, 2.0]),
    backoff_unit=st.sampled_from([1_000, 7_000, 13_000]),
    backoff_cap=st.just(40_000),
    lock_at_most=st.just(30_000),
    on_uncertain=st.sampled_from(["retry", "hold"]),
    order=st.sampled_from(["event_time", "message_id", "= seq"]),
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "group": st.sampled_from("ab"),
            "run": st.integers(0, 6),
            "event_at": st.integers(-30, 30),
            "grace": st.sampled_from([0, 0, 20, 40]),
            "expires": st.sampled_from([None, None, 20, 60]),
            "sort_value": st.none() | st.integers(0, 3),
        }
    ),
    min_size=1,
    max_size=9,
)
ANSWER: st.SearchStrategy[Outcome] = st.one_of(
    st.just(Delivered()),
    st.builds(Failed, st.sampled_from(FAULTS), st.just("no"), st.sampled_from([True, True, True, False])),
    st.just(Unanswered()),
)
ANSWERS = st.lists(ANSWER, min_size=1, max_size=9)
PEOPLE: st.SearchStrategy[list[tuple[int, int, Operation]]] = st.lists(
    st.tuples(
        st.integers(0, RUNS - 1),
        st.integers(0, 8),
        st.sampled_from([Pause(), Resume(), RetryNow(), Release(), Delete(), SetNextRetry(START_US + 50 * S)]),
    ),
    max_size=6,
)


class Script:
    """What each message is answered, by its id and how often it was asked: the same to whoever asks."""

    def __init__(self, answers: list[Outcome]) -> None:
        self._answers = answers
        self.tries: list[str] = []

    def answer(self, message: InboxMessage) -> Outcome:
        self.tries.append(message.message_id)
        place = self.tries.count(message.message_id) * 7 + int(message.message_id[2:]) * 3
        return self._answers[place % len(self._answers)]


@contextmanager
def offered_to(script: Script, depth: int) -> Iterator[None]:
    """Our own engine says what the script says, and few messages of a group are read at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Offers, "offer", lambda self, message: (script.answer(message), 0))
        patch.setattr(looks, "LEAST_DEPTH", depth)
        patch.setattr("conjoin.runtime.inbox.on_shard.runs.LEAST_DEPTH", depth)
        patch.setattr(spanning, "_DEPTH", depth)
        yield


class Walk:
    """One story, told twice."""

    def __init__(self, given_settings: InboxSettings, answers: list[Outcome], shards: int, channel: str) -> None:
        self.clock = FakeClock()
        self.scripts = Script(answers), Script(answers)
        self.channel = channel
        self.bench = Bench(temporary_broker(shards, self.clock), self.clock, given_settings)
        self.bench.inbox = Inbox(self.bench.broker, given_settings, CHANNELS, {"elsewhere": self}, at_once=2)
        self.simulator = Simulator(given_settings, lambda message, now: self.scripts[1].answer(message))
        self.simulator.remote = channel == REMOTE

    def deliver(self, message: InboxMessage) -> Outcome:
        return self.scripts[0].answer(message)

    def add(self, number: int, said: dict[str, Any]) -> None:
        now = self.clock()
        at = now + said["event_at"] * S
        expires_at = NEVER if said["expires"] is None else now + said["expires"] * S
        about = {"sort_value": said["sort_value"], "event_at": at, "ingested_at": now, "position": number}
        about |= {"grace_until": at + said["grace"] * S if said["grace"] else ALWAYS, "expires_at": expires_at}
        hint = Hint("paid", f"k{number}", group=said["group"])
        kept = make(number, hint=hint, target="elsewhere" if self.channel == REMOTE else "", **about)
        self.simulator.add(kept._replace(message_id=f"m-{number}"))
        headers = [("X-CORRELATE-Timestamp", instant_text(at))]
        headers += [("X-CORRELATE-TTL", f"{said['grace']}s")] if said["grace"] else []
        headers += [("X-CORRELATE-Expiration", instant_text(expires_at))] if expires_at != NEVER else []
        self.bench.send(
            "", f"m-{number}", self.channel, hint=hint, headers=headers, position=number, sort_value=said["sort_value"]
        )

    def operate(self, number: int, operation: Operation) -> None:
        if number in self.simulator.rows:
            refused = self.simulator.operate(number, operation, self.clock() / S)
            assert self.bench.operate(f"m-{number}", operation) == refused

    def run(self) -> None:
        before = [len(script.tries) for script in self.scripts]
        self.simulator.run(self.clock() / S)
        self.bench.run()
        self.bench.clean()
        for group in "ab":
            ours, theirs = (
                [it for it in script.tries[start:] if self._group(it) == group]
                for script, start in zip(self.scripts, before, strict=True)
            )
            assert ours == theirs
        assert self._stored() == self._simulated()

    def _group(self, message_id: str) -> str:
        return self.simulator.rows[int(message_id[2:])].hint.group

    def _stored(self) -> dict[str, Any]:
        return {row.message_id: _standing(self.bench.message(row.message_id)) for row in self.bench.rows()}

    def _simulated(self) -> dict[str, Any]:
        return {message.message_id: _standing(message) for message in self.simulator.rows.values()}


def _standing(message: InboxMessage) -> tuple[Any, ...]:
    its = message
    return (its.state, its.attempts, its.next_retry_at, its.tried_at, its.error, its.parked_for, its.ending)


@pytest.mark.parametrize(
    ("shards", "channel"), [(1, CHANNEL), (3, CHANNEL), (2, REMOTE)], ids=["own", "spanning", "remote"]
)
@seed(the_seed())
@settings(max_examples=WALKS, deadline=None, suppress_health_check=list(HealthCheck))
@given(SETTINGS, st.tuples(MESSAGES, PEOPLE, ANSWERS), st.sampled_from([1, 2, 10]))
def test_a_store_does_what_the_simulator_does(
    shards: int, channel: str, given_settings: InboxSettings, told: tuple[Any, Any, Any], depth: int
) -> None:
    messages, people, answers = told
    story = Walk(given_settings, answers, shards, channel)
    with closing(story.bench.broker), offered_to(story.scripts[0], depth):
        for number in range(RUNS):
            for index, said in enumerate(messages):
                if said["run"] == number:
                    story.add(index, said)
            for at, index, operation in people:
                if at == number:
                    story.operate(index, operation)
            story.run()
            story.clock.advance_ms(EVERY_S * 1_000)
