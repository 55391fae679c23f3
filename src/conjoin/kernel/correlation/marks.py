"""Marks: who has taken a message already, and so may not take it again.

What is marked follows from the cardinality (U3): the process id, the instance, the subscription, or simply that
somebody has it. A start event always counts for its process.
"""

from conjoin.kernel.catalog import StartSubscription
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.keys import InstanceId
from conjoin.kernel.policies import ALL, EXACTLY_ONE, ONCE_PER_INSTANCE, ONCE_PER_PROCESS, SUBSCRIPTION_FIRST

ANYBODY = "*"
BY_SUBSCRIPTION = "(subscription)"
"""With `subscription_first`: a subscription has it, so no start event gets it any more."""

_NARROWER = frozenset((ALL, ONCE_PER_INSTANCE))
"""A mark of these stands for less than a process."""

_FEW = 8
_BETWEEN = "\x1f"
"""Stands in no id, so that no two marks are the same by accident."""


def mark_of(cardinality: str, subscription: Subscription) -> str:
    if cardinality == ONCE_PER_PROCESS:
        return subscription.process_id
    if cardinality == EXACTLY_ONE:
        return ANYBODY
    mark = instance_mark(subscription.process_id, subscription.instance_id)
    return f"{mark}{_BETWEEN}{subscription.key}" if cardinality == ALL else mark


def instance_mark(process_id: str, instance_id: InstanceId) -> str:
    return f"{process_id}{_BETWEEN}{instance_id}"


def start_mark_of(cardinality: str, start: StartSubscription) -> str:
    return ANYBODY if cardinality == EXACTLY_ONE else start.process_id


def is_taken_for(message: Message, subscription: Subscription) -> bool:
    """Has the message been given to whatever this subscription stands for (D6-D8, U3)?"""
    marks = message.marks
    return bool(marks) and mark_of(message.policy.cardinality, subscription) in marks


def is_taken_by_process(message: Message, process_id: str) -> bool:
    """May the process no longer be started by this message (D13, D14)?"""
    marks = message.marks
    if not marks:
        return False
    return message.policy.cardinality == EXACTLY_ONE or process_id in marks or BY_SUBSCRIPTION in marks


def add_mark(message: Message, mark: str) -> None:
    marks = message.marks
    if not marks:
        message.marks = (mark,)
    elif isinstance(marks, dict):
        marks[mark] = None
    elif len(marks) < _FEW:
        message.marks = (*marks, mark)
    else:
        message.marks = dict.fromkeys((*marks, mark))


def mark_taken(message: Message, subscription: Subscription) -> str:
    """Mark the message for what the subscription stands for; the answer is that mark.

    An instance or a subscription counts for its process too: the process is not started by it any more (D13).
    """
    policy = message.policy
    cardinality = policy.cardinality
    mark = mark_of(cardinality, subscription)
    if message.marks:
        add_mark(message, mark)
    else:
        message.marks = (mark,)
    if cardinality in _NARROWER and subscription.process_id not in message.marks:
        add_mark(message, subscription.process_id)
    if policy.start_precedence == SUBSCRIPTION_FIRST and BY_SUBSCRIPTION not in message.marks:
        add_mark(message, BY_SUBSCRIPTION)
    return mark


def remove_mark(message: Message, subscription: Subscription) -> None:
    """Take back what `mark_taken` marked, unless another receiver stands for the same."""
    others = [target for target in message.targets if target.waiter is not subscription]
    removed = [mark_of(message.policy.cardinality, subscription)]
    if all(target.process_id != subscription.process_id for target in others):
        removed.append(subscription.process_id)
    if all(target.waiter is None for target in others):
        removed.append(BY_SUBSCRIPTION)
    message.marks = tuple(mark for mark in message.marks if mark not in removed)
