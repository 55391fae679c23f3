"""The inbox that a command works on: of a store and the settings of this process, or behind a server.

Problems in the settings are reported before a store is opened, all at once, with the origin of each.
"""

import base64
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from conjoin.cli.configuration import inbox_or_default
from conjoin.cli.invocation import CommandCall
from conjoin.cli.printing import JsonObject, complain
from conjoin.errors import CallFailed, InputError
from conjoin.kernel.inbox.operations import Operation, OperationRefused, SetAttempts, SetNextRetry
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.inbox_orders import SIMPLE
from conjoin.runtime.inbox.inbox import Inbox, Selected
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.receiving import Row
from conjoin.runtime.reading.lists import ListPage, ListQuery
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.times.iso8601 import instant_text

if TYPE_CHECKING:
    from conjoin.cli.inbox_engine import InboxMaker
    from conjoin.client import Client

_STATE = ("key", "state", "attempts", "next_retry_at")
_AT_ONCE, _MOST_BYTES = 5_000, 8 * 1024 * 1024


@contextmanager
def inbox_at_work(call: CommandCall, make: "InboxMaker") -> Iterator[Inbox]:
    """With its targets."""
    configuration = inbox_or_default(with_targets=True)
    with call.broker() as broker, closing(make(broker, configuration)) as inbox:
        yield inbox


@contextmanager
def operators_inbox(call: CommandCall) -> "Iterator[InboxOfStore | InboxOfServer]":
    with call.client() as client:
        if client is not None:
            with call.refusals():
                yield InboxOfServer(client)
            return
    configuration = inbox_or_default(with_targets=False)
    with call.broker() as broker, closing(Inbox(broker, *configuration)) as inbox:
        yield InboxOfStore(inbox)


def in_words(counts: Mapping[str, int], nothing: str) -> str:
    return ", ".join(f"{count:,} {word.replace('_', ' ')}" for word, count in counts.items()) or nothing


class InboxOfStore:
    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @property
    def now(self) -> int:
        return self._inbox.shards.now

    def page(self, query: ListQuery) -> ListPage:
        found = self._inbox.page(query)
        return found._replace(items=[to_plain(item) for item in found.items])

    def show(self, key: int) -> JsonObject | Refusal:
        """Everything that is known of it, with its payload as bytes."""
        it = self._inbox.show(key)
        if it is None:
            return Refusal("not_found", f"there is no message {key} in the inbox")
        return it.as_json() | {"type": it.item.type, "revision": it.type.revision}

    def operate(self, keys: Sequence[int], operation: str, who: str) -> list[Refusal | None]:
        """Why not, for each that it could not be done with. `operation` is one of `SIMPLE`."""
        answers = self._inbox.operate_on(keys, SIMPLE[operation], who)
        return [Refusal(*it) if isinstance(it, OperationRefused) else None for it in answers]

    def operate_on_all(self, query: ListQuery, operation: str, who: str) -> Selected:
        return self._inbox.operate_on_all(query, SIMPLE[operation], who)

    def count(self, query: ListQuery, operation: str) -> Selected:
        return self._inbox.rehearse_on_all(query, SIMPLE[operation])

    def set(self, key: int, attempts: int | None, next_retry_at: int | None, who: str) -> JsonObject | Refusal:
        """Its state afterwards."""
        operations: list[Operation] = [] if attempts is None else [SetAttempts(attempts)]
        operations += [] if next_retry_at is None else [SetNextRetry(next_retry_at)]
        for operation in operations:
            answer = self._inbox.operate(key, operation, who)
            if isinstance(answer, OperationRefused):
                break
        return _state(answer)

    def correct(self, key: int, payload: bytes | None, hint: JsonObject, who: str) -> JsonObject | Refusal:
        """Its state afterwards."""
        return _state(self._inbox.correct(key, payload, hint, who))

    def receive(self, channel: str, rows: Iterator[Row]) -> Counter[str]:
        """By word; rows that cannot be read are kept as dead letters."""
        counts = Counts()
        for batch in _batches(rows):
            counts += self._inbox.receive_rows(channel, batch)
        return Counter(asdict(counts))

    def check_channel(self, name: str) -> None:
        if not self._inbox.channel(name).enabled:
            raise InputError([f"the channel {name!r} is not enabled"])


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Bounded in rows, in the numbers they span, and in bytes."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        if batch and (row.position - batch[0].position >= _AT_ONCE or size >= _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += len(row.raw)
    if batch:
        yield batch


def _state(answer: Any) -> JsonObject | Refusal:
    if isinstance(answer, OperationRefused):
        return Refusal(*answer)
    state: JsonObject = to_plain({name: getattr(answer, name) for name in _STATE})
    return state


class InboxOfServer:
    """The operator is known to the server by the credentials; the inbox has its settings there."""

    def __init__(self, client: "Client") -> None:
        from conjoin.cli.engine.through_server import ThroughServer

        self._client, self._engine = client, ThroughServer(client)

    @property
    def now(self) -> int:
        return self._engine.now

    def page(self, query: ListQuery) -> ListPage:
        return self._engine.page("inbox", query)

    def show(self, key: int) -> JsonObject:
        found = self._client.inbox_message(key)
        type_, payload = found["type"], found["payload"]
        name = f"{type_['namespace']}.{type_['name']}" if type_["namespace"] else type_["name"]
        content = base64.b64decode(found.pop("payload_base64")) if payload is None else payload.encode()
        return found | {"type": name, "revision": type_["revision"], "payload": content}

    def operate(self, keys: Sequence[int], operation: str, who: str) -> list[Refusal | None]:
        return [self._operated(key, operation) for key in keys]

    def _operated(self, key: int, operation: str) -> Refusal | None:
        try:
            self._client.operate_on_inbox_message(key, operation)
        except CallFailed as error:
            if error.status not in (400, 404, 409):
                raise
            return Refusal(error.reason, error.sentence)
        return None

    def operate_on_all(self, query: ListQuery, operation: str, who: str) -> Selected:
        return self._on_all(query, operation, dry_run=False)

    def count(self, query: ListQuery, operation: str) -> Selected:
        return self._on_all(query, operation, dry_run=True)

    def _on_all(self, query: ListQuery, operation: str, dry_run: bool) -> Selected:
        if (query.since, query.until) != (None, None):
            raise InputError(["--since, --until: a server selects by other filters; leave them out"])
        filters = {name: str(value) for name, value in query.filters.items()}
        found = self._client.operate_on_inbox(operation, filters, dry_run)
        return Selected(found["changed"], found["refused"])

    def set(self, key: int, attempts: int | None, next_retry_at: int | None, who: str) -> JsonObject:
        body: JsonObject = {} if attempts is None else {"attempts": attempts}
        body |= {} if next_retry_at is None else {"next_retry_at": instant_text(next_retry_at)}
        return self._changed("PATCH", key, body)

    def correct(self, key: int, payload: bytes | None, hint: JsonObject, who: str) -> JsonObject:
        try:
            body = {} if payload is None else {"payload": payload.decode()}
        except UnicodeDecodeError:
            raise InputError(["--payload: is not UTF-8, and a server takes a payload as text"]) from None
        return self._changed("PUT", key, {**body, "hint": hint})

    def _changed(self, method: str, key: int, body: JsonObject) -> JsonObject:
        state = self._client.request(method, f"/conjoin/v1/inbox/messages/{key}", body)
        return {name: state[name] for name in _STATE}

    def receive(self, channel: str, rows: Iterator[Row]) -> Counter[str]:
        """As lines that the server reads. A row that has no line, as of a torn CSV file, is reported and counted."""
        counts = Counter[str]()
        for batch in _batches(rows):
            for row in batch:
                if row.problem:
                    counts["bad_lines"] += 1
                    complain(f"{row.source}:{row.position}: {row.problem}")
            lines = {row.position: row.raw.rstrip(b"\r\n") for row in batch if not row.problem}
            if lines:
                # A row keeps its number: what is left out between two is a blank line.
                content = [lines.get(number, b"") for number in range(min(lines), max(lines) + 1)]
                found = self._client.receive(channel, content, batch[0].source, min(lines))
                counts.update({word: count for word, count in found.items() if word != "channel"})
        return counts

    def check_channel(self, name: str) -> None:
        """The server does that."""


def counted(counts: Mapping[str, int]) -> dict[str, int]:
    """Only what is not 0, by its word."""
    words = (*(it.name for it in fields(Counts)), "bad_lines")
    return {word: counts[word] for word in words if counts.get(word)}
