"""Waiting: subscriptions open, answer and close (sections C, D, E).

At most one message is on its way to a subscription. An acknowledgement closes an interrupting subscription; a
non-interrupting one goes on to the next stored message (E3). What an instance refuses is given back (D17, D18).
"""

from collections.abc import Sequence

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.commands import AcknowledgeCorrelation
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.offers import next_message, next_receiver
from conjoin.kernel.correlation.state import KeySpace
from conjoin.kernel.keys import SubscriptionKey
from conjoin.kernel.policies import DISCARD, REJECT


def open_subscription(space: KeySpace, subscription: Subscription, at: int, catalog: Catalog) -> list[e.Event]:
    holder = space.subscriptions.get(subscription.key)
    if holder is not None:
        return [e.SubscriptionRefused(subscription, at, "already_open", holder)]
    topic = space.topics.get(subscription.name)
    opened = e.SubscriptionOpened(subscription, at)
    if topic is None:
        return [opened]
    if topic.lanes and catalog.policies.of(subscription.name).duplicate_subscription == "reject":
        holder = topic.first_open()
        return [e.SubscriptionRefused(subscription, at, "duplicate", holder)]
    message = next_message(space, subscription, at, catalog)
    return [opened] if message is None else [opened, _late(message, subscription, at)]


def _late(message: Message, subscription: Subscription, at: int) -> e.MessageCorrelated:
    if message.given_back is None:
        return e.MessageCorrelated(message, subscription, at, "waiting_instance_later")
    return e.MessageCorrelated(message, subscription, at, "given_back_and_taken", message.given_back)


def close_subscription(space: KeySpace, subscription_key: SubscriptionKey, at: int) -> list[e.Event]:
    subscription = space.subscriptions.get(subscription_key)
    if subscription is None:
        return [e.OrderRefused("NOT_FOUND", f"subscription {subscription_key} is not open", at)]
    return [e.SubscriptionClosed(subscription, at), *_released(space, subscription.name, at)]


def acknowledge(space: KeySpace, command: AcknowledgeCorrelation, catalog: Catalog) -> list[e.Event]:
    subscription = space.subscriptions.get(command.subscription_key)
    if subscription is None:
        return [e.OrderRefused("NOT_FOUND", f"subscription {command.subscription_key} is not open", command.at)]
    message = subscription.busy_with
    if message is None or message.key != command.message_key:
        return [e.OrderRefused("INVALID_STATE", f"message {command.message_key} is not on its way", command.at)]
    return accept(space, subscription, message, command.at, catalog)


def accept(space: KeySpace, subscription: Subscription, message: Message, at: int, catalog: Catalog) -> list[e.Event]:
    """The instance has taken the message that was on its way to this open subscription."""
    if subscription.interrupting:
        events: list[e.Event] = [e.SubscriptionClosed(subscription, at, True)]
    else:
        events = [e.CorrelationAcknowledged(subscription, message, at)]
        following = next_message(space, subscription, at, catalog)
        if following is not None:
            events.append(_late(following, subscription, at))
    if message.sync:
        events.append(e.MessageAnswered(message, subscription.instance_id, at))
    if space.topics[subscription.name].held:
        events += _released(space, subscription.name, at)
    return events


def reject(space: KeySpace, subscription: Subscription, message: Message, at: int, why: str) -> list[e.Event]:
    """Give the message back: to the next idle subscription of the process while it lives, else to the buffer."""
    if subscription.busy_with is not message:
        code = "NOT_FOUND" if subscription.closed else "INVALID_STATE"
        return [e.OrderRefused(code, f"message {message.key} is not on its way", at)]
    given_back = e.CorrelationGivenBack(subscription, message, at, why)
    events: list[e.Event] = [given_back]
    if not subscription.closed:
        events.append(e.SubscriptionClosed(subscription, at))
    following = next_receiver(space, message, subscription) if may_be_passed_on(message, at) else None
    if following is not None:
        events.append(e.MessageCorrelated(message, following, at, "given_back_and_taken", given_back))
    elif not message.stored and len(message.targets) < 2:
        events.append(_lost_its_only_receiver(message, at))
    events += _released(space, subscription.name, at)
    return events


def may_be_passed_on(message: Message, at: int) -> bool:
    """What was given back goes to the next one while it lives, and for as long as somebody waits for its answer."""
    return message.sync or message.deadline > at


def _lost_its_only_receiver(message: Message, at: int) -> e.Event:
    if message.sync or message.policy.on_no_match == REJECT:
        return e.MessageRefused(message, at, "not_found", {"near_misses": ()})
    if message.policy.on_no_match == DISCARD:
        return e.MessageDiscarded(message, at, "policy", ())
    if message.deadline > message.published_at:
        return e.MessageExpired(message, at, "nobody_waited")
    return e.MessageDiscarded(message, at, "ttl_zero", ())


def _released(space: KeySpace, name: str, at: int) -> Sequence[e.Event]:
    """Somebody has answered: what was held for that is offered again."""
    topic = space.topics.get(name)
    return [e.MessageReleased(message, at) for message in topic.held] if topic is not None and topic.held else ()
