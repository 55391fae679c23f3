"""Crowded keys: who must be loaded of a crowd before a command is decided.

Deciding changes nothing, so it is simply tried with those who are here, and again with more of them, until the answer
cannot change any more: in each lane whoever was chosen has no higher rank than the last one loaded, or there are no
more. What needs everybody (`all`, `once_per_instance`, `exactly_one`) loads everybody who waits for its name.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.offers import is_left_to_start
from conjoin.kernel.correlation.waiting import may_be_passed_on
from conjoin.kernel.policies import EXACTLY_ONE, ONCE_PER_PROCESS, REJECT
from conjoin.runtime.codec.key_spaces import Loaded
from conjoin.runtime.run.working_set.crowds import Crowd, CrowdLane
from conjoin.runtime.run.working_set.trying import tried

if TYPE_CHECKING:
    from conjoin.runtime.run.working_set.working_set import WorkingSet

_WITH_NEAR_MISSES = (e.MessageDiscarded, e.MessageRefused, e.MessageExpired)


def fetch_waiting(its: "WorkingSet", loaded: Loaded, command: Any) -> None:
    """Of a key with a crowd, those whom the command can concern."""
    fetch = _FETCH.get(type(command))
    if fetch is not None:
        fetch(its, loaded, command)


def _for_message(its: "WorkingSet", loaded: Loaded, command: Any) -> None:
    crowd: Crowd = loaded.crowd
    message: Message = command.message
    crowd.name(message.name)
    starts = its.catalog.starts_for(loaded.space.tenant_id, message.name, command.at)
    while True:
        decided = tried(its, loaded.space, command)
        if any(type(event) is e.MessageRefused and event.reason == "duplicate_id" for event in decided):
            return
        lanes = [
            lane
            for lane in crowd.lanes("idle", message.name)
            if not is_left_to_start(message, lane.process_id, starts) and not _is_certain(lane, message, decided)
        ]
        if not crowd.more(lanes):
            break
    if not any(isinstance(event, (e.MessageCorrelated, e.InstanceStarted)) for event in decided):
        crowd.until_awaited(message)
        _with_near_misses(its, loaded, command)


def _is_certain(lane: CrowdLane, message: Message, decided: Sequence[Any]) -> bool:
    if message.policy.cardinality != ONCE_PER_PROCESS:
        return False
    return any(
        type(event) is e.MessageCorrelated
        and event.subscription.process_id == lane.process_id
        and event.subscription.rank <= lane.rank
        for event in decided
    )


def _with_near_misses(its: "WorkingSet", loaded: Loaded, command: Any) -> None:
    for event in tried(its, loaded.space, command):
        if isinstance(event, _WITH_NEAR_MISSES):
            loaded.crowd.near(event.message.name)


def _for_opening(its: "WorkingSet", loaded: Loaded, command: correlation.OpenSubscription) -> None:
    loaded.crowd.some([command.subscription.key])
    if its.catalog.policies.of(command.subscription.name).duplicate_subscription == REJECT:
        loaded.crowd.name(command.subscription.name)


def _for_subscription(its: "WorkingSet", loaded: Loaded, command: Any) -> None:
    loaded.crowd.closing(command.subscription_key)


def _for_giving_back(its: "WorkingSet", loaded: Loaded, command: correlation.RejectCorrelation) -> None:
    loaded.crowd.closing(command.subscription.key)


def fetch_next_receiver(its: "WorkingSet", loaded: Loaded, command: correlation.RejectCorrelation) -> None:
    """Whoever gets what was given back has the lowest rank of all who may have it."""
    crowd: Crowd = loaded.crowd
    message = command.message
    if not may_be_passed_on(message, command.at):
        return
    crowd.name(message.name)
    anybody = message.policy.cardinality == EXACTLY_ONE
    while True:
        decided = tried(its, loaded.space, command)
        taken = [event.subscription.rank for event in decided if isinstance(event, e.MessageCorrelated)]
        lanes = [
            lane
            for lane in crowd.lanes("idle", message.name)
            if (anybody or lane.process_id == command.subscription.process_id) and lane.rank < min(taken, default=2**64)
        ]
        if not crowd.more(lanes):
            return


_FETCH: dict[type, Callable[["WorkingSet", Loaded, Any], None]] = {
    correlation.PublishMessage: _for_message,
    correlation.CorrelateMessage: _for_message,
    correlation.OpenSubscription: _for_opening,
    correlation.CloseSubscription: _for_subscription,
    correlation.AcknowledgeCorrelation: _for_subscription,
    correlation.RejectCorrelation: _for_giving_back,
    correlation.ExpireMessages: _with_near_misses,
}
