"""Marks: who has taken a message already, and so may not take it again.

What is marked follows from the cardinality (U3): the process id, the instance, the subscription, or simply that
somebody has it. A start event always counts for its process.
"""

from typing import Any

from conjoin.kernel.catalog import StartSubscription
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.policies import ALL, EXACTLY_ONE, ONCE_PER_INSTANCE, ONCE_PER_PROCESS

ANYBODY = "*"
_FEW = 8


def mark_of(cardinality: str, subscription: Subscription) -> Any:
    if cardinality == ONCE_PER_PROCESS:
        return subscription.process_id
    if cardinality == ONCE_PER_INSTANCE:
        return f"{subscription.process_id}/{subscription.instance_id}"
    return subscription.key if cardinality == ALL else ANYBODY


def start_mark_of(cardinality: str, start: StartSubscription) -> str:
    return ANYBODY if cardinality == EXACTLY_ONE else start.process_id


def is_taken_for(message: Message, subscription: Subscription) -> bool:
    """Has the message been given to whatever this subscription stands for (D6-D8, U3)?"""
    marks = message.marks
    return bool(marks) and mark_of(message.policy.cardinality, subscription) in marks


def is_taken_by_process(message: Message, process_id: str) -> bool:
    """May the process no longer be started by this message (D13, D14)?"""
    if not message.marks:
        return False
    if message.policy.cardinality == EXACTLY_ONE or process_id in message.marks:
        return True
    return any(target.process_id == process_id for target in message.targets)


def add_mark(message: Message, mark: Any) -> None:
    marks = message.marks
    if isinstance(marks, dict):
        marks[mark] = None
    elif len(marks) < _FEW:
        message.marks = (*marks, mark)
    else:
        message.marks = dict.fromkeys((*marks, mark))


def remove_mark(message: Message, mark: Any) -> None:
    message.marks = tuple(m for m in message.marks if m != mark)
