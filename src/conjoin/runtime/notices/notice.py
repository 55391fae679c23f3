"""A notice: one thing that somebody should know of. Its id is the same however often it is told."""

from typing import Any, NamedTuple

from conjoin.runtime.codec.json_text import json_bytes, read_json
from conjoin.times.iso8601 import instant_text


class Notice(NamedTuple):
    """What is not known is empty or 0. `variables` are those of the message, as JSON text."""

    id: str
    kind: str
    at: int
    sentence: str
    verdict: str = ""
    reason: str = ""
    tenant_id: str = ""
    name: str = ""
    correlation_key: str = ""
    message_key: int = 0
    message_id: str = ""
    instance_key: int = 0
    variables: str = "{}"
    inbox_key: int = 0
    """Of the message of the inbox that it is about."""


def payload_of(notice: Notice, with_variables: bool) -> bytes:
    """As JSON; keys are texts, as they outgrow the numbers of JavaScript."""
    told: dict[str, Any] = {
        "id": notice.id,
        "kind": notice.kind,
        "at": instant_text(notice.at),
        "tenantId": notice.tenant_id or None,
        "messageName": notice.name or None,
        "correlationKey": notice.correlation_key,
        "messageKey": _key(notice.message_key),
        "messageId": notice.message_id or None,
        "verdict": notice.verdict or None,
        "reason": notice.reason or None,
        "sentence": notice.sentence,
        "processInstanceKey": _key(notice.instance_key),
    }
    if with_variables:
        told["variables"] = read_json(notice.variables)
    return json_bytes(told)


def _key(key: int) -> str | None:
    return str(key) if key else None
