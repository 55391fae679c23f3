"""A Kafka topic as receiver: a notice is a record with the notice's id as key and header.

Only what all replicas have counts as told. The client is an extra of the installation, and imported when it is needed.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from conjoin.errors import ExtraMissing

SCHEME = "kafka"
TIMEOUT_S = 10.0
ID = "id"
"""The header with the id of a notice."""
_ALWAYS: Mapping[str, Any] = {
    "client.id": "conjoin",
    "enable.idempotence": True,
    "linger.ms": 0,
    "message.timeout.ms": int(TIMEOUT_S * 1_000),
    # What goes wrong is told as an answer; the client would also write it to standard error, again and again.
    "log_level": 0,
}


def check_client() -> None:
    """Raises `ExtraMissing`."""
    if find_spec("confluent_kafka") is None:
        raise ExtraMissing("a notice to a Kafka topic", "confluent-kafka", "kafka")


class KafkaTopic:
    """One topic of some servers. Its client connects by itself, again and again, from the first notice on."""

    def __init__(self, url: str, properties: Mapping[str, Any]) -> None:
        from confluent_kafka import Producer

        parts = urlsplit(url)
        self._topic = parts.path.strip("/")
        self._problem = ""
        said = {**_ALWAYS, **properties, "bootstrap.servers": parts.netloc, "error_cb": self._note}
        self._producer: Any = Producer(said)

    def send(self, notice_id: str, body: bytes) -> str:
        """Why it was not told; empty if it was."""
        answers: list[str] = []
        headers = {ID: notice_id, "content-type": "application/json"}
        self._problem = ""
        self._producer.produce(
            self._topic, body, notice_id, headers=headers, on_delivery=lambda error, _: answers.append(_words(error))
        )
        # A little longer than the client itself waits, so that it is the one who says what happened.
        self._producer.flush(TIMEOUT_S + 1)
        answer = answers[0] if answers else "it did not answer"
        return f"{answer}: {self._problem}" if answer and self._problem else answer

    def _note(self, error: Any) -> None:
        self._problem = self._problem or _words(error)


def _words(error: Any) -> str:
    return "" if error is None else str(error.str())
