"""Large keys: what must be loaded of a key with very many subscriptions or messages before a command is decided.

Deciding changes nothing, so it is tried with what is here, and again with more, until the answer cannot change any
more. Of subscriptions: in each lane the chosen one has no higher rank than the last one loaded, or there are no more;
what needs everybody (`all`, `once_per_instance`, `exactly_one`) loads everybody who waits for its name. Of messages:
the chosen one is no younger than the last one loaded, or there are no more.
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
from conjoin.runtime.run.working_set.loaded_spaces import Crowd, CrowdLane, LoadedSpaces

_WITH_NEAR_MISSES = (e.MessageDiscarded, e.MessageRefused, e.MessageExpired)
_AT_ONCE = 1_000
_Offered = correlation.PublishMessage | correlation.CorrelateMessage


def fetch_waiting(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: correlation.Command) -> None:
    """Of a key with a crowd, those whom the command can concern."""
    fetch = _FETCH.get(type(command))
    if fetch is not None:
        fetch(crowd, loaded, catalog, command)


def _tried(catalog: Catalog, space: KeySpace, command: correlation.Command) -> Sequence[e.Event]:
    """What a command would lead to with what is loaded so far. Nothing is applied, and no key is used up."""
    return decide(space, command, catalog.asking(lambda *_: 0))


def _for_message(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: _Offered) -> None:
    message = command.message
    crowd.name(message.name)
    starts = catalog.starts_for(loaded.space.tenant_id, message.name, command.at)
    while True:
        decided = _tried(catalog, loaded.space, command)
        if any(isinstance(event, e.MessageRefused) and event.reason == "duplicate_id" for event in decided):
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


def _is_certain(lane: CrowdLane, message: Message, decided: Sequence[e.Event]) -> bool:
    if message.policy.cardinality != ONCE_PER_PROCESS:
        return False
    return any(
        isinstance(event, e.MessageCorrelated)
        and event.subscription.process_id == lane.process_id
        and event.subscription.rank <= lane.rank
        for event in decided
    )


def _with_near_misses(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: correlation.Command) -> None:
    for event in _tried(catalog, loaded.space, command):
        if isinstance(event, _WITH_NEAR_MISSES):
            crowd.near(event.message.name)


def _for_opening(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: correlation.OpenSubscription) -> None:
    crowd.some([command.subscription.key])
    if catalog.policies.of(command.subscription.name).duplicate_subscription == REJECT:
        crowd.name(command.subscription.name)


def fetch_next_receiver(crowd: Crowd, loaded: Loaded, catalog: Catalog, command: correlation.RejectCorrelation) -> None:
    """What was given back goes to the subscription with the lowest rank of all that may have it."""
    message = command.message
    if not may_be_passed_on(message, command.at):
        return
    crowd.name(message.name)
    anybody = message.policy.cardinality == EXACTLY_ONE
    while True:
        decided = _tried(catalog, loaded.space, command)
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
    correlation.CloseSubscription: lambda crowd, loaded, catalog, command: crowd.closing(command.subscription_key),
    correlation.AcknowledgeCorrelation: lambda crowd, loaded, catalog, command: crowd.closing(command.subscription_key),
    correlation.RejectCorrelation: lambda crowd, loaded, catalog, command: crowd.closing(command.subscription.key),
    correlation.ExpireMessages: _with_near_misses,
}


def fetch_more(spaces: LoadedSpaces, loaded: Loaded, command: correlation.Command, catalog: Catalog) -> None:
    """Of a key with very many live messages, those beyond the oldest that the command needs."""
    space = loaded.space
    names: list[str] = []
    if isinstance(command, correlation.PublishMessage):
        message = command.message
        if message.message_id:
            found = spaces.snapshot.messages_with_id(space.tenant_id, space.key, message.name, message.message_id)
            spaces.add_messages(loaded, found)
    elif isinstance(command, correlation.OpenSubscription):
        names = [command.subscription.name]
    elif isinstance(command, correlation.AcknowledgeCorrelation):
        subscription = space.subscriptions.get(command.subscription_key)
        names = [] if subscription is None or subscription.interrupting else [subscription.name]
    elif isinstance(command, correlation.EndInstance):
        names = [start.name for start in catalog.starts_of(space.tenant_id, command.process_id, command.at)]
    while names:
        decided = _tried(catalog, space, command)
        taken = (event.message.key for event in decided if isinstance(event, (e.MessageCorrelated, e.InstanceStarted)))
        chosen = min(taken, default=float("inf"))
        short = [name for name in names if (reached := loaded.reached_of(name)) is not None and chosen > reached]
        for name in short:
            after = loaded.reached_of(name) or 0
            rows = spaces.snapshot.live_messages(space.tenant_id, space.key, name, after, _AT_ONCE)
            spaces.add_messages(loaded, rows)
            loaded.reached[name] = rows[-1].key if len(rows) == _AT_ONCE else None
        if not short:
            return
