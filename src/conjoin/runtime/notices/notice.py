"""A notice: one thing that somebody should know of. Its id is the same however often it is sent."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_bytes, json_text, read_json
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.instances import elements_of
from conjoin.store import tables as t
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
    fields: dict[str, Any] = {
        "id": notice.id,
        "kind": notice.kind,
        "at": instant_text(notice.at),
        "tenantId": notice.tenant_id or None,
        "messageName": notice.name or None,
        "correlationKey": notice.correlation_key,
        "messageKey": str(notice.message_key or "") or None,
        "messageId": notice.message_id or None,
        "verdict": notice.verdict or None,
        "reason": notice.reason or None,
        "sentence": notice.sentence,
        "processInstanceKey": str(notice.instance_key or "") or None,
    }
    if with_variables:
        fields["variables"] = read_json(notice.variables)
    return json_bytes(fields)


def shown_notice(broker: Broker, notice: Notice) -> Notice:
    """As its receiver may see it: what is hidden from readers of a store is not sent out of it either."""
    hiding = broker.hiding
    if not hiding.is_active:
        return notice
    variables = read_json(notice.variables) or {}
    sentence = hiding.text(notice.sentence, variables, *_quoted(broker, notice))
    return notice._replace(sentence=sentence, variables=json_text(hiding.of(variables)))


def _quoted(broker: Broker, notice: Notice) -> Iterator[Any]:
    """Where else a value in the sentence may come from."""
    if notice.instance_key:
        for row in rows_with(broker, "instance", [notice.instance_key]).values():
            yield from (it.variables for it in elements_of(row))
    if notice.inbox_key:
        for content in broker.store.rows(t.INBOX_CONTENT, {"key": notice.inbox_key}, None, 1):
            yield from (content.about.encode(), content.payload)
