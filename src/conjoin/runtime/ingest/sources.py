"""What of a row an expression sees: the object that is its value, and for Kafka its record around it, as `kafka`."""

from collections.abc import Mapping
from typing import Any

from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.ingest.rows import Envelope, json_object

KAFKA = "kafka"
"""`kafka.key`, `kafka.topic`, `kafka.partition`, `kafka.offset`, `kafka.timestamp`, `kafka.headers.NAME`"""


def envelope_of(envelope: str | None) -> Envelope:
    """`envelope` is JSON of what is around the value; None when there is nothing."""
    if envelope is None:
        return json_object

    def read(raw: bytes) -> Mapping[str, Any]:
        return {**json_object(raw), KAFKA: read_json(envelope)}

    return read
