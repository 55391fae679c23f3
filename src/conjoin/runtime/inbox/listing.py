"""Lists of messages of the inbox, and one of them with everything that is known about it. Nothing is decided here.

Filters on columns are the store's; the text of an error is searched in each item. Verdicts are those of now.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.kernel.inbox import verdict_of
from conjoin.kernel.inbox.message import FAULTS, STATES, Hint, InboxMessage, MessageType
from conjoin.kernel.inbox.outcomes import HANDED_OVER
from conjoin.kernel.verdicts.near_miss_sentences import near_miss
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.cross_shard import Shards
from conjoin.runtime.inbox.rows import read_row, with_content
from conjoin.runtime.reading.lists import Listing
from conjoin.runtime.visibility.hiding import Hiding
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.store import tables as t
from conjoin.store.rows import InboxRow
from conjoin.times.iso8601 import instant_text


class InboxItem(NamedTuple):
    key: int
    channel: str
    type: str
    message_id: str
    tenant_id: str
    name: str
    correlation_key: str
    target: str
    state: str
    verdict: str
    reason: str
    attempts: int
    ingested_at: int
    next_retry_at: int | None
    expires_at: int | None
    error: str
    """Its class; empty if nothing has failed."""
    error_text: str


class HistoryLine(NamedTuple):
    """`kind` is `attempt`, or the operation, with `who`."""

    number: int
    at: int
    kind: str
    who: str
    verdict: str
    reason: str
    asked: str
    answered: str


class Shown(NamedTuple):
    """`sentence` says in English what has become of it; `group` names those that wait in line with it. Of one that is
    still to be taken by our own engine, `now` says what would become of it now, and `near_misses` what comes near.
    """

    item: InboxItem
    sentence: str
    type: MessageType
    encoding: str
    headers: Mapping[str, str]
    hint: Hint
    payload: bytes
    event_at: int
    group: str
    taken_by: str
    message_key: int | None
    history: Sequence[HistoryLine]
    now: str = ""
    near_misses: Sequence[Mapping[str, Any]] = ()

    def as_json(self) -> dict[str, Any]:
        """One object, with instants and keys as text. The payload stays bytes."""
        plain: dict[str, Any] = to_plain(self._replace(payload=b"", headers={}, history=()))
        plain["hint"]["correlation_variables"] = self.hint.correlation_variables
        history = [{**line._asdict(), "at": instant_text(line.at)} for line in self.history]
        whole = {"headers": dict(self.headers), "payload": self.payload, "history": history}
        whole["near_misses"] = [{**miss, "text": near_miss(miss)} for miss in plain["near_misses"]]
        return {**plain.pop("item"), **plain, **whole}


def payload_as_text(payload: bytes) -> dict[str, str]:
    """What is no UTF-8 has another name."""
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload_base64": b64encode(payload).decode()}


def inbox_items(broker: Broker, rows: Sequence[InboxRow]) -> Iterator[InboxItem]:
    now, contents = broker.now, _contents(broker, rows)
    for row in rows:
        item = _item(row, read_row(row).message, now)
        yield item._replace(error_text=broker.hiding.text(item.error_text, *contents.get(row.key, ())))


def _contents(broker: Broker, rows: Sequence[InboxRow]) -> dict[int, Sequence[Any]]:
    """What the text of an error may quote, for those that have one; read only if something in it may be hidden."""
    keys = tuple(row.key for row in rows if row.error_text) if broker.hiding.is_active else ()
    found = broker.store.rows(t.INBOX_CONTENT, {"key": keys}, None, len(keys)) if keys else ()
    blank = {row.key: read_row(row).message for row in rows if row.error_text}
    whole = (with_content(blank[content.key], content) for content in found)
    return {it.key: (it.payload, dict(it.headers), it.hint._asdict()) for it in whole}


def hidden_view(hiding: Hiding, shown: Shown) -> Shown:
    """Payload, headers, hint and history as the reader may see them."""
    if not hiding.is_active:
        return shown
    quoted = (shown.payload, dict(shown.headers), shown.hint._asdict())
    return shown._replace(
        item=shown.item._replace(error_text=hiding.text(shown.item.error_text, *quoted)),
        sentence=hiding.text(shown.sentence, *quoted),
        headers=hiding.of(shown.headers),
        hint=shown.hint._replace(
            variables=hiding.of(shown.hint.variables), correlation_variables=hiding.of(shown.hint.correlation_variables)
        ),
        payload=hiding.payload(shown.payload),
        history=[
            line._replace(asked=hiding.line(line.asked, *quoted), answered=hiding.line(line.answered, *quoted))
            for line in shown.history
        ],
    )


def _item(row: InboxRow, message: InboxMessage, now: int) -> InboxItem:
    verdict = verdict_of(message, now)
    return InboxItem(
        *(row.key, row.channel, row.type, row.message_id, row.tenant_id, row.name, row.correlation_key, row.target),
        *(row.state, verdict.verdict, verdict.reason, row.attempts, row.ingested_at, row.next_retry_at),
        *(row.expires_at, row.error_kind, row.error_text),
    )


INBOX = Listing(
    t.INBOX,
    inbox_items,
    {
        **{"state": "state", "channel": "channel", "type": "type", "target": "target", "name": "name"},
        **{"key": "correlation_key", "id": "message_id", "tenant": "tenant_id", "error": "error_kind"},
        "group": "group_key",
    },
    {"text": lambda item, text: text in item.error_text},
    {"state": STATES, "error": FAULTS},
    "ingested_at",
)


def show(shards: Shards, key: int) -> Shown | None:
    """None: there is no such message. All shards are searched, as a corrected key may have moved it."""
    for row in shards.store.rows(t.INBOX, {"key": key}, None, 1):
        contents = list(shards.store.rows(t.INBOX_CONTENT, {"key": key}, None, 1))
        history = shards.store.rows(t.INBOX_ATTEMPT, {"inbox_key": key}, None, 10_000)
        message = read_row(row).message
        message = with_content(message, contents[0]) if contents else message
        verdict = verdict_of(message, shards.now)
        detail = dict(verdict.detail)
        if verdict.verdict == "correlated" and verdict.reason != HANDED_OVER:
            detail["instance"] = detail.get("target")
        plain: Any = to_plain(detail)
        return Shown(
            _item(row, message, shards.now),
            sentence(verdict.verdict, verdict.reason, plain, row.name, row.correlation_key),
            *(message.type, message.encoding, message.headers, message.hint, message.payload),
            *(message.event_at, row.group_key, row.taken_by, row.message_key or None),
            [HistoryLine(*line[1:]) for line in history],
        )
    return None
