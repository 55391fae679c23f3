"""Crowded keys: who must be loaded of a crowd before a command is decided.

Deciding changes nothing, so it is simply tried with those who are here, and again with more of them, until the answer
cannot change any more: in each lane whoever was chosen has no higher rank than the last one loaded, or there are no
more. What needs everybody (`all`, `once_per_instance`, `exactly_one`) loads everybody who waits for its name.
"""

from collections.abc import Callable, Sequence
from typing import Any

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import KeySpace, Message, decide
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.offers import is_left_to_start
from conjoin.kernel.correlation.waiting import may_be_passed_on
from conjoin.kernel.policies import EXACTLY_ONE, ONCE_PER_PROCESS, REJECT
from conjoin.runtime.codec.key_spaces import Loaded
from conjoin.runtime.run.working_set.crowds import Crowd, CrowdLane

_WITH_NEAR_MISSES = (e.MessageDiscarded, e.MessageRefused, e.MessageExpired)


def fetch_waiting(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: Any) -> None:
    """Of a key with a crowd, those whom the command can concern."""
    fetch = _FETCH.get(type(command))
    if fetch is not None:
        fetch(crowd, loaded, catalog, command)


def tried(catalog: Catalog, space: KeySpace, command: Any) -> Sequence[Any]:
    """What a command would lead to with what is loaded so far. Nothing is applied, and no key is used up."""
    return decide(space, command, catalog.asking(_no_key))


def _no_key(*asked: Any) -> int:
    return 0


def _for_message(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: Any) -> None:
    message: Message = command.message
    crowd.name(message.name)
    starts = catalog.starts_for(loaded.space.tenant_id, message.name, command.at)
    while True:
        decided = tried(catalog, loaded.space, command)
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
        _with_near_misses(crowd, loaded, catalog, command)


def _is_certain(lane: CrowdLane, message: Message, decided: Sequence[Any]) -> bool:
    if message.policy.cardinality != ONCE_PER_PROCESS:
        return False
    return any(
        type(event) is e.MessageCorrelated
        and event.subscription.process_id == lane.process_id
        and event.subscription.rank <= lane.rank
        for event in decided
    )


def _with_near_misses(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: Any) -> None:
    for event in tried(catalog, loaded.space, command):
        if isinstance(event, _WITH_NEAR_MISSES):
            crowd.near(event.message.name)


def _for_opening(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: correlation.OpenSubscription) -> None:
    crowd.some([command.subscription.key])
    if catalog.policies.of(command.subscription.name).duplicate_subscription == REJECT:
        crowd.name(command.subscription.name)


def _for_subscription(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: Any) -> None:
    crowd.closing(command.subscription_key)


def _for_giving_back(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: correlation.RejectCorrelation) -> None:
    crowd.closing(command.subscription.key)


def fetch_next_receiver(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: correlation.RejectCorrelation) -> None:
    """Whoever gets what was given back has the lowest rank of all who may have it."""
    message = command.message
    if not may_be_passed_on(message, command.at):
        return
    crowd.name(message.name)
    anybody = message.policy.cardinality == EXACTLY_ONE
    while True:
        decided = tried(catalog, loaded.space, command)
        taken = [event.subscription.rank for event in decided if isinstance(event, e.MessageCorrelated)]
        lanes = [
            lane
            for lane in crowd.lanes("idle", message.name)
            if (anybody or lane.process_id == command.subscription.process_id) and lane.rank < min(taken, default=2**64)
        ]
        if not crowd.more(lanes):
            return


_FETCH: dict[type, Callable[[Crowd, Loaded, Catalog, Any], None]] = {
    correlation.PublishMessage: _for_message,
    correlation.CorrelateMessage: _for_message,
    correlation.OpenSubscription: _for_opening,
    correlation.CloseSubscription: _for_subscription,
    correlation.AcknowledgeCorrelation: _for_subscription,
    correlation.RejectCorrelation: _for_giving_back,
    correlation.ExpireMessages: _with_near_misses,
}
