"""How a notice gets to its receiver: by a webhook, or into a Kafka topic. Their connections are kept.

A webhook has the notice when it answers with 200 to 299; redirects are not followed. With a secret it is signed, so
that the receiver knows who sent it and when: `X-Conjoin-Signature: t=SECONDS,v1=HEX`, where HEX is the HMAC-SHA256 of
`SECONDS.BODY`. A topic has it when all replicas have it: a record with the notice's id as key and header.
"""

import hmac
import ssl
from collections.abc import Callable, Mapping
from time import time
from typing import Any
from urllib.parse import urlsplit

from conjoin.runtime.notices.receivers import Receiver
from conjoin.runtime.targets.calls import CallBroken, HttpLimits

SIGNATURE = "X-Conjoin-Signature"
ID = "id"
"""The header of a record with the id of a notice."""
TIMEOUT_S = 10.0
_LIMITS = HttpLimits(connect_timeout_ms=10_000, answer_timeout_ms=10_000, calls_in_flight=1, answer_max=1_024)
_CLIENT: Mapping[str, Any] = {
    "client.id": "conjoin",
    "enable.idempotence": True,
    "linger.ms": 0,
    "message.timeout.ms": int(TIMEOUT_S * 1_000),
    # Failures are reported as the answer; the client would also write them to standard error, again and again.
    "log_level": 0,
}


Send = Callable[[Receiver, str, bytes], str]
"""With the id of a notice and its body. Answers why the receiver does not have it; empty if it has."""


class Sending:
    """For a `Notifier`. Each receiver is served by one thread at a time."""

    def __init__(self) -> None:
        self._open: dict[str, Webhook | KafkaTopic] = {}

    def __call__(self, receiver: Receiver, notice_id: str, body: bytes) -> str:
        if not receiver.is_topic:
            return self._sender(receiver).send(notice_id, body)
        from confluent_kafka import KafkaException

        try:
            return _without_secrets(self._sender(receiver).send(notice_id, body), receiver)
        except KafkaException as error:
            # Settings that its client does not take, for instance.
            return _without_secrets(" ".join(str(error).split()), receiver)

    def _sender(self, receiver: Receiver) -> "Webhook | KafkaTopic":
        if receiver.name not in self._open:
            self._open[receiver.name] = (
                KafkaTopic(receiver.url, receiver.properties)
                if receiver.is_topic
                else Webhook(receiver.url, receiver.authorization, receiver.secret)
            )
        return self._open[receiver.name]


def _without_secrets(text: str, receiver: Receiver) -> str:
    """Its client quotes settings that it does not take."""
    for value in sorted(map(str, receiver.properties.values()), key=len, reverse=True):
        text = text.replace(value, "(hidden)") if len(value) > 2 else text
    return text


class Webhook:
    """One URL, whose connection is kept. `clock` gives seconds since 1970."""

    def __init__(self, url: str, authorization: str = "", secret: str = "", clock: Callable[[], float] = time) -> None:
        from conjoin.runtime.targets.connections import HttpConnections

        self._url, self._authorization, self._secret, self._clock = url, authorization, secret, clock
        context = ssl.create_default_context() if url.lower().startswith("https:") else None
        self._connections = HttpConnections(_LIMITS, context)

    def send(self, notice_id: str, body: bytes) -> str:
        """Why it does not have the notice; empty if it has."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": notice_id}
        if self._authorization:
            headers["Authorization"] = self._authorization
        if self._secret:
            headers[SIGNATURE] = signature(self._secret, int(self._clock()), body)
        try:
            status = self._connections.exchange("POST", self._url, headers, body).status
        except CallBroken as error:
            # The rest of its text may quote the URL, and with it a secret.
            why = getattr(error.cause, "strerror", None)
            return f"{type(error.cause).__name__}: {why}" if why else type(error.cause).__name__
        return "" if 200 <= status < 300 else f"it answered {status}"


def signature(secret: str, at_s: int, body: bytes) -> str:
    """The value of the header."""
    return f"t={at_s},v1={hmac.new(secret.encode(), b'%d.%b' % (at_s, body), 'sha256').hexdigest()}"


class KafkaTopic:
    """One topic of some servers. Its client, an extra of the installation, connects by itself, again and again."""

    def __init__(self, url: str, properties: Mapping[str, Any]) -> None:
        from confluent_kafka import Producer

        parts = urlsplit(url)
        self._topic = parts.path.strip("/")
        self._problem = ""
        own = {"bootstrap.servers": parts.netloc, "error_cb": self._note}
        self._producer: Any = Producer({**_CLIENT, **properties, **own})

    def send(self, notice_id: str, body: bytes) -> str:
        """Why it does not have the notice; empty if it has."""
        answers: list[str] = []
        headers = {ID: notice_id, "content-type": "application/json"}
        self._problem = ""
        self._producer.produce(
            self._topic, body, notice_id, headers=headers, on_delivery=lambda error, _: answers.append(_words(error))
        )
        # A little longer than the client itself waits, so that it is the one to report what happened.
        self._producer.flush(TIMEOUT_S + 1)
        answer = answers[0] if answers else "it did not answer"
        return f"{answer}: {self._problem}" if answer and self._problem else answer

    def _note(self, error: Any) -> None:
        self._problem = self._problem or _words(error)


def _words(error: Any) -> str:
    return "" if error is None else str(error.str())
