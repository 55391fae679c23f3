"""A notice as its receiver may see it: what is hidden from whoever looks at a store is not sent out of it either."""

from collections.abc import Iterator
from typing import Any

from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.notices.notice import Notice
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.instances import elements_of
from conjoin.store import tables as t


def shown_notice(broker: Broker, notice: Notice) -> Notice:
    hiding = broker.hiding
    if not hiding.is_active:
        return notice
    variables = read_json(notice.variables) or {}
    sentence = hiding.text(notice.sentence, variables, *_quoted(broker, notice))
    return notice._replace(sentence=sentence, variables=json_text(hiding.of(variables)))


def _quoted(broker: Broker, notice: Notice) -> Iterator[Any]:
    """What else the sentence may have a value of."""
    if notice.instance_key:
        for row in rows_with(broker, "instance", [notice.instance_key]).values():
            yield from (it.variables for it in elements_of(row))
    if notice.inbox_key:
        for content in broker.store.rows(t.INBOX_CONTENT, {"key": notice.inbox_key}, None, 1):
            yield from (content.about.encode(), content.payload)
