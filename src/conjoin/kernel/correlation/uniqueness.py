"""Uniqueness: a message id is accepted once for as long as it is remembered (section B, policy `dedup`).

With `while_buffered` the id lives exactly as long as its message, correlated or not, and is free again at the
deadline itself. With a duration it lives that long from publication, whatever became of the message.
"""

from conjoin.kernel.correlation.messages import Message
from conjoin.kernel.correlation.state import KeySpace
from conjoin.kernel.instants import after
from conjoin.kernel.policies import OFF


def remembered_until(message: Message) -> int:
    dedup = message.policy.dedup
    return message.deadline if isinstance(dedup, str) else after(message.published_at, dedup)


def holder_of_id(space: KeySpace, message: Message, at: int) -> Message | None:
    """The message that came first with the same name, key, tenant and id, while it is remembered."""
    topic = space.topics.get(message.name)
    if topic is None or topic.ids is None or message.policy.dedup == OFF:
        return None
    first = topic.ids.get(message.message_id)
    return first if first is not None and remembered_until(first) > at else None
