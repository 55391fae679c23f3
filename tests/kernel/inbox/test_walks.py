"""Random inboxes: nothing is lost or starved, nobody overtakes in a group, and no back-off is passed over.

Targets take, fail or do not answer, and whoever calls them crashes, as chance has it, with every mix of modes, gates
and rules; people pause, resume, delete and retry in between. The checks look at the history of the tries only.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from conjoin.kernel.inbox import InboxMessage, InboxSettings
from conjoin.kernel.inbox.groups import order_of
from conjoin.kernel.inbox.message import ENDED, FAULTS
from conjoin.kernel.inbox.operations import Delete, Operation, Pause, Release, Resume, RetryNow
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Outcome, Unanswered, is_exhausted
from conjoin.kernel.inbox.run import states_in_plan
from conjoin.kernel.instants import NEVER
from tests.conftest import the_seed
from tests.kernel.inbox.simulator import Inbox, S, make, preset

OUTCOMES: st.SearchStrategy[Outcome | None] = st.one_of(
    st.none(),
    st.just(Delivered()),
    st.builds(Failed, st.sampled_from(FAULTS), st.just("no"), st.sampled_from([True, True, True, False])),
    st.just(Unanswered()),
)
SETTINGS = st.builds(
    preset,
    st.sampled_from(["conjoin", "correlate-docs", "correlate-code"]),
    mode=st.sampled_from(["all", "fail_first"]),
    group_gate=st.sampled_from(["own", "strict"]),
    batch_size=st.sampled_from([-1, -1, 1, 2]),
    page_size=st.sampled_from([1, 3, 1_000]),
    max_attempts=st.integers(0, 4),
    backoff_base=st.sampled_from([1.0, 2.0, 3.0]),
    backoff_unit=st.sampled_from([1_000, 7_000]),
    backoff_cap=st.just(40_000),
    lock_at_most=st.just(30_000),
    on_uncertain=st.sampled_from(["retry", "hold"]),
    order=st.sampled_from(["event_time", "message_id", "= seq"]),
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "group": st.sampled_from("ab"),
            "at": st.integers(0, 30),
            "grace_until": st.integers(0, 40).map(lambda second: second * S),
            "expires_at": st.sampled_from([NEVER, NEVER, 60 * S, 300 * S]),
            "sort_value": st.none() | st.integers(0, 3),
        }
    ),
    min_size=1,
    max_size=7,
)
PEOPLE: st.SearchStrategy[list[tuple[int, int, Operation]]] = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.integers(1, 7),
        st.sampled_from([Pause(), Pause(), Resume(), RetryNow(), Release(), Delete()]),
    ),
    max_size=6,
)
RUNS = 80
"""Of 6 s each: more than everything needs once the targets take what they get."""
ALL_RESUMED, ALL_TAKEN = 50, 30
"""The runs from which on nobody is paused, and targets take everything."""
WALKS = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Try(NamedTuple):
    """A message as it was when it was tried, what it came to, and who of the inbox kept a place then."""

    now: int
    message: InboxMessage
    outcome: Outcome | None
    in_line: tuple[InboxMessage, ...]


class Walk:
    """An inbox under way, and the history of its tries."""

    def __init__(self, given: InboxSettings, chance: st.DataObject) -> None:
        self.chance = chance
        self.tries: list[Try] = []
        self.inbox = Inbox(given, self.target, remote=True)

    def target(self, message: InboxMessage, now: int) -> Outcome | None:
        outcome = self.chance.draw(OUTCOMES) if now < ALL_TAKEN * 6 * S else Delivered()
        keep = states_in_plan(self.inbox.settings)
        in_line = tuple(m for m in self.inbox.rows.values() if m.state in keep and m.expires_at > now)
        self.tries.append(Try(now, message, outcome, in_line))
        return outcome

    def go(self, messages: list[dict[str, Any]], people: list[tuple[int, int, Operation]]) -> None:
        for number in range(RUNS):
            second = 6 * number
            for key, about in enumerate(messages, 1):
                if second - 6 < about["at"] <= second:
                    self.inbox.add(make(key, **about))
            for at, key, operation in people:
                if at == number and key in self.inbox.rows:
                    self.inbox.operate(key, operation, second)
            if number == ALL_RESUMED:
                for key in self.inbox.rows:
                    self.inbox.operate(key, Resume(), second)
            self.inbox.run(second)


@seed(the_seed())
@WALKS
@given(SETTINGS, MESSAGES, PEOPLE, st.data())
def test_no_message_is_lost_or_starved(
    given_settings: InboxSettings,
    messages: list[dict[str, Any]],
    people: list[tuple[int, int, Operation]],
    data: st.DataObject,
) -> None:
    walk = Walk(given_settings, data)
    walk.go(messages, people)
    assert len(walk.inbox.rows) == len(messages)
    rows = walk.inbox.rows.values()
    blocked = {message.group_key for message in rows if given_settings.exhausted_blocks and message.state == "parked"}
    for message in rows:
        assert message.state in (*ENDED, "parked") or message.group_key in blocked
        assert (message.ending is not None) == (message.state in ENDED)


@seed(the_seed())
@WALKS
@given(SETTINGS, MESSAGES, PEOPLE, st.data(), st.booleans())
def test_nobody_overtakes_in_a_group_that_fails_first(
    given_settings: InboxSettings,
    messages: list[dict[str, Any]],
    people: list[tuple[int, int, Operation]],
    data: st.DataObject,
    exhausted_blocks: bool,
) -> None:
    walk = Walk(replace(given_settings, mode="fail_first", exhausted_blocks=exhausted_blocks), data)
    walk.go(messages, people)
    order = order_of(walk.inbox.settings)
    for tried in walk.tries:
        mates = [m for m in tried.in_line if m.group_key == tried.message.group_key]
        assert [m.key for m in mates if order(m) < order(tried.message)] == []


@seed(the_seed())
@WALKS
@given(SETTINGS, MESSAGES, st.data())
def test_no_back_off_is_passed_over_and_no_maximum_exceeded(
    given_settings: InboxSettings, messages: list[dict[str, Any]], data: st.DataObject
) -> None:
    walk = Walk(given_settings, data)
    walk.go(messages, [])
    for now, message, _, _ in walk.tries:
        assert message.next_retry_at is None or message.next_retry_at <= now
        assert not is_exhausted(message.attempts, given_settings)
        assert message.tried_at == now
        assert message.expires_at > now


@seed(the_seed())
@WALKS
@given(SETTINGS, MESSAGES, PEOPLE, st.data())
def test_what_a_target_has_taken_is_done_and_never_offered_again(
    given_settings: InboxSettings,
    messages: list[dict[str, Any]],
    people: list[tuple[int, int, Operation]],
    data: st.DataObject,
) -> None:
    walk = Walk(given_settings, data)
    walk.go(messages, people)
    taken = [tried.message.key for tried in walk.tries if isinstance(tried.outcome, Delivered)]
    assert sorted(taken) == sorted(m.key for m in walk.inbox.rows.values() if m.state == "done")
