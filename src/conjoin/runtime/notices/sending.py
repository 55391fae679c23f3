"""How a notice gets to its receiver: by a webhook, or into a Kafka topic. Their connections are kept."""

from typing import Any, Protocol

from conjoin.runtime.notices.configuration import Receiver
from conjoin.runtime.notices.webhook import Webhook


class Send(Protocol):
    """Answers why the receiver was not told; empty if it was."""

    def __call__(self, receiver: Receiver, notice_id: str, body: bytes) -> str: ...


class Sending:
    """For a `Notifier`. Each receiver is told by one thread at a time."""

    def __init__(self) -> None:
        self._open: dict[str, Any] = {}

    def __call__(self, receiver: Receiver, notice_id: str, body: bytes) -> str:
        if not receiver.is_topic:
            return str(self._sender(receiver).send(notice_id, body))
        from confluent_kafka import KafkaException

        try:
            return _without_secrets(str(self._sender(receiver).send(notice_id, body)), receiver)
        except KafkaException as error:
            # Settings that its client does not take, for instance.
            return _without_secrets(" ".join(str(error).split()), receiver)

    def _sender(self, receiver: Receiver) -> Any:
        if receiver.name not in self._open:
            self._open[receiver.name] = _opened(receiver)
        return self._open[receiver.name]


def _opened(receiver: Receiver) -> Any:
    if not receiver.is_topic:
        return Webhook(receiver.url, receiver.authorization, receiver.secret)
    from conjoin.runtime.notices.kafka import KafkaTopic

    return KafkaTopic(receiver.url, receiver.properties)


def _without_secrets(text: str, receiver: Receiver) -> str:
    """Its client quotes settings that it does not take."""
    for value in sorted(map(str, receiver.properties.values()), key=len, reverse=True):
        text = text.replace(value, "(hidden)") if len(value) > 2 else text
    return text
